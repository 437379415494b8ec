"""Whose new text is quarantined, by settings, signatures and the list of accepted names.

Mutants that make no difference: `None` for `False`.
"""

from __future__ import annotations

import pytest

from engram.domain.admission.trust import (
    BAD,
    FOREIGN,
    GOOD,
    NONE,
    NOT_SIGNED,
    UNKNOWN_KEY,
    UNSIGNED,
    Signature,
    quarantine_reason,
)

ADA = Signature(GOOD, "SHA256:ada", "Ada <ada@example.org>")
BARE = Signature(GOOD, "SHA256:ada", "ada@example.org")
EVE = Signature(UNKNOWN_KEY, "SHA256:eve", "ada@example.org")
NOBODY = Signature(NOT_SIGNED)
FORGED = Signature(BAD, "SHA256:ada", "Ada <ada@example.org>")
ELSEWHERE = "it comes from another clone"
UNKNOWN = "nothing is known of its last change"
PLAIN = "its last change is not signed"
STRANGE = (
    "its last change is signed with a key that is not known to be anybody's (ada@example.org SHA256:eve)"
)
WRONG = "its last change is signed by nobody: the signature is bad (Ada <ada@example.org> SHA256:ada)"


@pytest.mark.parametrize(
    ("hold", "accepted", "signatures", "why"),
    [
        (NONE, (), (), ""),
        (NONE, (), (NOBODY,), ""),
        (UNSIGNED, (), (), UNKNOWN),
        (UNSIGNED, (), (NOBODY,), PLAIN),
        (UNSIGNED, (), (ADA,), ""),
        (UNSIGNED, (), (ADA, NOBODY), PLAIN),
        (UNSIGNED, ("SHA256:ada",), (ADA, NOBODY), PLAIN),
        (UNSIGNED, (), (EVE,), STRANGE),
        (UNSIGNED, ("SHA256:eve",), (EVE,), ""),
        (UNSIGNED, ("SHA256:eve",), (EVE, ADA), ""),
        (UNSIGNED, ("ada@example.org",), (EVE,), STRANGE),
        (UNSIGNED, ("SHA256:ada", "ada@example.org"), (FORGED,), WRONG),
        (UNSIGNED, ("01SOURCE",), (NOBODY,), PLAIN),
        (UNSIGNED, ("",), (Signature(UNKNOWN_KEY),), "its last change is signed with a key that is not known to be anybody's"),
        (FOREIGN, (), (), ELSEWHERE),
        (FOREIGN, (), (ADA,), ELSEWHERE),
        (FOREIGN, ("SHA256:ada",), (ADA,), ""),
        (FOREIGN, ("ada@example.org",), (ADA,), ""),
        (FOREIGN, ("ada@example.org",), (BARE,), ""),
        (FOREIGN, ("ada@example.org",), (ADA, NOBODY), ELSEWHERE),
        (FOREIGN, ("SHA256:bob",), (ADA,), ELSEWHERE),
        (FOREIGN, ("SHA256:eve",), (EVE,), ""),
        (FOREIGN, ("ada@example.org",), (EVE,), ELSEWHERE),
        (FOREIGN, ("SHA256:ada",), (FORGED,), ELSEWHERE),
        (FOREIGN, ("",), (Signature(GOOD),), ELSEWHERE),
        (FOREIGN, ("01SOURCE",), (NOBODY,), ""),
        (FOREIGN, ("01SOURCE",), (), ""),
    ],
)  # fmt: skip
def test_new_text_is_quarantined_unless_something_vouches_for_it(
    hold: str, accepted: tuple[str, ...], signatures: tuple[Signature, ...], why: str
) -> None:
    assert quarantine_reason(hold, accepted, "01SOURCE", signatures) == why


@pytest.mark.parametrize(
    ("signature", "sentence"),
    [
        (Signature(GOOD), "signed"),
        (Signature(GOOD, "K"), "signed (K)"),
        (Signature(GOOD, "K", "Ada"), "signed (Ada K)"),
        (Signature("revoked-key", signer="Ada"), "signed with a key that was revoked (Ada)"),
        (Signature("something new"), "something new"),
    ],
)
def test_a_signature_is_described_with_its_signer_and_key(signature: Signature, sentence: str) -> None:
    assert signature.sentence == sentence
