"""Answer a question: candidates, ranking, reranking, and the log of what was shown."""
