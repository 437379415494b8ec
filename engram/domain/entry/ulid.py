"""ULIDs: 48 bits of milliseconds and 80 random bits, in Crockford's base 32 (https://github.com/ulid/spec)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
_DIGITS = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # as `int` reads numbers in base 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode(milliseconds: int, randomness: int) -> str:
    """Return the ULID of a time (ms since 1970, 48 bits) and a random number (80 bits). Raises ValueError out of range."""
    if not 0 <= milliseconds < 1 << 48 or not 0 <= randomness < 1 << 80:
        raise ValueError("a ULID holds 48 bits of milliseconds and 80 random bits")
    return _to_text(milliseconds << 80 | randomness)


def _to_text(value: int) -> str:
    return "".join([ALPHABET[value >> shift & 31] for shift in range(125, -1, -5)])


# The first ULID of the year 10000, beyond the range of datetime; 48 bits reach the year 10889.
_TOO_LATE = encode(253_402_300_800_000, 0)


def is_valid(text: str) -> bool:
    """Whether `text` is a ULID in canonical upper-case form, with a time before the year 10000."""
    return len(text) == LENGTH and text < _TOO_LATE and not text.strip(ALPHABET)


def milliseconds(ulid: str) -> int:
    """Return the time in a ULID (Unix ms), in less than half the time of `moment`."""
    return int(ulid[:10].translate(_DIGITS), 32)


def moment(ulid: str) -> datetime:
    """Return the time in a ULID (UTC, milliseconds)."""
    return _EPOCH + timedelta(milliseconds=milliseconds(ulid))


def is_undated(ulid: str) -> bool:
    """Whether a ULID has the time 0, as those made from the path of a note."""
    return ulid.startswith("0000000000")


def short(ulid: str) -> str:
    """Return the last eight characters: random, and enough to distinguish the clones of a team."""
    return ulid[-8:]


def later(new: str, last: str) -> str:
    """Return `new` if it is later than `last` ("": none), else the ULID that follows `last`."""
    if new > last:
        return new
    return _to_text(int(last.translate(_DIGITS) or "0", 32) + 1)
