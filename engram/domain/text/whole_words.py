"""The beginning of a text, never half a word of it: half a secret would not be recognized as one."""


def first_words(text: str, most: int) -> str:
    """Return the words at the beginning of a text that fit into `most` characters."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0]
