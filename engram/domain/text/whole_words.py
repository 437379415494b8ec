"""Cut texts only between words, as half a secret would not be recognized."""


def first_words(text: str, most: int) -> str:
    """Return the beginning of a text, at most `most` characters, without cutting a word of ASCII characters."""
    end = min(most, len(text))
    if len(text) > most and "!" <= text[most] <= "~":
        while end and "!" <= text[end - 1] <= "~":
            end -= 1
    return text[:end].rstrip() if len(text) > most else text
