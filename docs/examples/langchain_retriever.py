"""Lore as a retriever of LangChain, and as a node of a LangGraph: `pip install engram-lore langchain-core`.

retriever = EngramRetriever(store=engram.open(), k=3)
documents = retriever.invoke("how do we retry the queue?")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class EngramRetriever(BaseRetriever):
    """The entries that answer a question, best first; a document's `ref` is what `feedback` takes."""

    store: Any  # an engram.Engram
    k: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        answer = self.store.query(query, self.k)
        return [
            Document(
                id=hit.lore.id,
                page_content=hit.lore.content,
                metadata={
                    "ref": hit.ref,
                    "title": hit.lore.title,
                    "category": hit.lore.category,
                    "confidence": hit.lore.confidence,
                    "score": hit.score.total,
                },
            )
            for hit in answer.lore
        ]


def recall_node(retriever: BaseRetriever) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A node of a LangGraph: adds to the state, as `documents`, what is known about its `question`."""
    return lambda state: {"documents": retriever.invoke(state["question"])}
