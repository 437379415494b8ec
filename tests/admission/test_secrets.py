"""Secret detection as a whole: places, masks, redaction, allowed values, hostile text, start-up cost.

Mutants that make no difference: how many rounds there are, how long a short text is, how much before a run is kept, how far
behind a word the next is looked for, and how far before an option its program, give or take one; another round after the
last; what is known of a line before the first; `>=` where a span is compared with the end of a line (none begins there, or
is one); 0 for the end of a line or of a run, where neither ends; the joints before a name and what is looked for before a
pattern, which only save looks at what has no match; another look for a token that was found, as spans that overlap become
one; `None` for `False`.
"""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
import sys
import time
from base64 import b64encode

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.domain.admission.secrets import (
    ALLOW_MARKERS,
    Finding,
    _find_names,
    _find_words,
    find_secrets,
    mask,
    redact,
    refuse,
)
from engram.domain.admission.token_shapes import RULES
from engram.domain.errors import USAGE, SecretFoundError
from tests.admission.test_secrets_labelled import NEGATIVES, POSITIVES, key_block, made

TOKEN = "gh" + "p_" + made(36)
STRIPE = "sk" + "_live_" + made(24)
KEY_ID = "AK" + "IA" + made(16, "ABCDEFGHIJ234567")
RANDOM = made(24)
HOSTILE_LENGTH = 500_000

SEPARATORS = [
    " ",
    "\n",
    "=",
    ": ",
    chr(34),
    "'",
    "password",
    "TOKEN=",
    "api_key: ",
    "-----BEGIN ",
    "://",
    "@",
    "İ",
    "é",
]

secrets_and_text = st.lists(
    st.one_of(
        st.sampled_from([before + secret + after for _, before, secret, after in POSITIVES]),
        st.sampled_from([secret for _, _, secret, _ in POSITIVES]),
        st.sampled_from(NEGATIVES),
        st.sampled_from(
            [
                " ",
                "\n",
                "=",
                ": ",
                '"',
                "'",
                "password",
                "TOKEN=",
                "api_key: ",
                "-----BEGIN ",
                "://",
                "@",
                "İ",
                "é",
                "\\n",
            ]
        ),
        st.text(max_size=20),
    ),
    max_size=8,
).map("".join)


def test_a_finding_has_the_place_of_the_value_and_shows_only_its_start():
    text = f"first\nGITHUB_TOKEN={TOKEN} # deploy\n"
    (found,) = find_secrets(text)
    assert found == Finding("github-token", 2, 14, 19, 59, "ghp_…(40 characters)")
    assert text[found.start : found.end] == TOKEN
    assert found.as_dict() == {
        "rule": "github-token",
        "line": 2,
        "column": 14,
        "preview": "ghp_…(40 characters)",
    }


def test_lines_and_columns_count_from_one_across_several_findings():
    text = f"{TOKEN} {TOKEN}\n\n  {TOKEN}\n{TOKEN}"
    places = [(found.line, found.column) for found in find_secrets(text)]
    assert places == [(1, 1), (1, 42), (3, 3), (4, 1)]


def test_a_text_that_begins_with_a_line_break_or_a_marker_is_counted_the_same() -> None:
    assert [(found.line, found.column) for found in find_secrets(f"\n{TOKEN}")] == [(2, 1)]
    assert find_secrets(f"{ALLOW_MARKERS[0]} {TOKEN}") == ()


def test_both_markers_allow_in_one_text() -> None:
    text = "".join(f"{TOKEN} {marker}\n" for marker in ALLOW_MARKERS)
    assert [found.line for found in find_secrets(text + TOKEN)] == [3]


def test_characters_that_change_length_in_lower_case_do_not_move_the_offsets():
    text = "İİİ ẞ 🔑 " + f"password: {TOKEN[4:]}1a"
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == f"{TOKEN[4:]}1a"


def test_redacting_replaces_the_secrets_and_nothing_else():
    text = f"a {TOKEN} b\n{TOKEN}\tc"
    assert redact(text, find_secrets(text)) == "a [redacted: github-token] b\n[redacted: github-token]\tc"
    assert redact(text, ()) == text


def test_a_short_secret_is_masked_whole():
    assert mask("hunter2x") == "…(8 characters)"
    assert mask("abcd\n" + "a" * 30) == "abcd…(35 characters)"
    assert mask("\x1b]8;" + "a" * 30) == "…(34 characters)"


def test_a_private_key_is_one_finding_over_the_whole_block():
    block = key_block("RSA PRIVATE" + " KEY")
    text = f"before\n{block}\nafter {TOKEN}"
    key, token = find_secrets(text)
    assert (text[key.start : key.end], key.line, token.line) == (block, 2, 16)


def test_a_private_key_cut_off_before_its_end_is_still_found():
    block = key_block("OPENSSH PRIVATE" + " KEY").rsplit("\n", 1)[0]
    text = f"{block}\n\nThe rest was lost."
    (found,) = find_secrets(text)
    assert block in text[found.start : found.end]
    assert redact(text, (found,)).endswith("The rest was lost.")


def test_the_secret_half_of_an_aws_pair_is_found_without_a_name():
    secret = made(40)
    text = "Access key ID,Secret access key\n" + "AK" + "IA" + made(16, "ABCDEFGHIJ234567") + f",{secret}\n"
    assert [found.rule for found in find_secrets(text)] == ["aws-access-key-id", "aws-secret-access-key"]


def test_a_token_after_an_escaped_line_break_is_found():
    assert find_secrets('{"log": "line one\\n' + TOKEN + '\\nline three"}')[0].rule == "github-token"


@pytest.mark.parametrize("marker", ["engram: allow-secret", "pragma: allowlist secret"])
def test_a_marker_allows_its_own_line_only(marker):
    text = f"one {TOKEN} <!-- {marker} -->\ntwo {TOKEN}\n"
    assert [found.line for found in find_secrets(text)] == [2]


def test_a_listed_value_is_allowed_and_another_is_not():
    other = "gh" + "p_" + made(36)
    text = f"{TOKEN} {other}"
    assert [text[found.start : found.end] for found in find_secrets(text, [TOKEN])] == [other]


@pytest.mark.parametrize("form", ["{}", "sha256:{}"])
def test_a_hash_prefix_allows_the_value_without_naming_it(form):
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    assert find_secrets(TOKEN, [form.format(digest[:16])]) == ()
    assert find_secrets(TOKEN, [form.format(digest.upper())]) == ()
    assert len(find_secrets(TOKEN, [form.format(digest[:11])])) == 1
    assert len(find_secrets(TOKEN, [form.format(digest[1:17])])) == 1
    assert len(find_secrets(TOKEN, ["", "sha256:"])) == 1


def test_the_refusal_has_rule_place_and_hint_but_never_the_secret():
    error = refuse(find_secrets(f"x\n{TOKEN} and {TOKEN}"), "the entry")
    assert isinstance(error, SecretFoundError)
    assert error.exit_code == USAGE
    assert "the entry" in error.message
    assert "line 2, column 1 and 1 more" in error.message
    assert "--redact" in error.hint
    assert f'"{ALLOW_MARKERS[0]}"' in error.hint
    assert " and " not in refuse(find_secrets(TOKEN), "the entry").message
    assert len(error.findings) == 2
    assert TOKEN[4:] not in repr(error.as_dict()) + str(error)


def test_every_vendor_rule_is_met_by_some_labelled_secret_or_a_made_one():
    """A token made from each rule's own pattern is found: no needle that the pattern cannot meet."""
    for rule in RULES:
        token = _from_pattern(rule.pattern)
        rules = {found.rule for found in find_secrets(f"see {token} there")}
        assert rule.name in rules, (rule.name, token)


def _from_pattern(pattern: str) -> str:
    """A text that the pattern matches: without its guards, each part at its least length."""
    from re import ASCII
    from re import compile as compile_pattern

    clean = pattern.replace("(?:(?<![A-Za-z0-9])|(?<=\\\\[nrt]))", "").replace(
        "(?:(?<![A-Za-z0-9_-])|(?<=\\\\[nrt]))", ""
    )
    clean = clean.replace("(?<![0-9])", "").replace("(?<=[?&;])", "[?]").replace("(?![A-Za-z0-9])", "")
    clean = clean.replace("(?![A-Za-z0-9_-])", "").replace("(?![\\w-])", "").replace("(?![_-])", "")
    return _generate(compile_pattern(clean, ASCII).pattern)


def _generate(pattern: str) -> str:
    from re import _parser  # the standard library's own reading of the pattern

    return "".join(_node(kind, argument, random.Random(pattern)) for kind, argument in _parser.parse(pattern))


def _node(kind, argument, source) -> str:
    name = str(kind)
    if name == "LITERAL":
        return chr(argument)
    if name == "IN":
        return _from_class(argument, source)
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, _, inner = argument
        return "".join(_node(*item, source) for _ in range(least) for item in inner)
    if name == "SUBPATTERN":
        return "".join(_node(*item, source) for item in argument[-1])
    if name == "BRANCH":
        return "".join(_node(*item, source) for item in argument[1][0])
    if name == "ASSERT_NOT":
        return ""
    raise AssertionError(name)


def _from_class(items, source) -> str:
    choices = [c for c in map(chr, range(48, 123)) if _in_class(c, items)]
    return source.choice([c for c in choices if c.isalnum()] or choices)


def _in_class(character, items) -> bool:
    for kind, argument in items:
        low, high = argument if str(kind) == "RANGE" else (argument, argument)
        if str(kind) == "CATEGORY" and (character.isalnum() or character == "_"):
            return True
        if str(kind) != "CATEGORY" and low <= ord(character) <= high:
            return True
    return False


@given(st.one_of(st.text(), secrets_and_text))
@settings(max_examples=examples(40, 1000), deadline=None)
def test_any_text_is_read_with_right_offsets_order_and_masks(text):
    end = 0
    for found in find_secrets(text):
        assert end <= found.start < found.end <= len(text)
        end = found.end
        lines = text[: found.start].split("\n")
        assert (found.line, found.column) == (len(lines), len(lines[-1]) + 1)
        secret = text[found.start : found.end]
        shown, _, rest = found.preview.partition("…")
        assert len(shown) <= 4
        assert secret.startswith(shown)
        assert rest == f"({len(secret)} characters)"


@given(secrets_and_text)
@settings(max_examples=examples(60, 2000), deadline=None)
def test_redacted_text_holds_no_more_secrets_and_keeps_the_rest(text):
    findings = find_secrets(text)
    redacted = redact(text, findings)
    if "allow-secret" not in text:
        assert find_secrets(redacted) == ()
    rest = list(redacted.split("[redacted: "))
    assert len(rest) >= len(findings) + 1
    assert redacted.startswith(text[: findings[0].start] if findings else text)


STEMS = (b"pass", b"pwd", b"key", b"token", b"secret", b"auth")


@given(
    st.lists(
        st.sampled_from([*STEMS, b"pw", b"to", b"ke", b"p", b"w", b"_", b"en", b"y", b"a", b" ", b"secre"])
    ).map(b"".join)
)
def test_every_stem_of_a_name_is_found_where_it_begins(lowered):
    plain = [
        at
        for at in range(len(lowered))
        if re.compile(rb"pw\b").match(lowered, at) or lowered.startswith(STEMS, at)
    ]
    assert sorted(_find_names(lowered, _find_words(lowered))) == plain


def test_surrogates_and_control_characters_are_read_like_any_other():
    text = "\ud800\x00\x1b[31m" + f"password={TOKEN}" + "\udfff"
    assert find_secrets(text)[0].start == 16


REPEATED = {
    "words": "the quick brown fox ",
    "one run": "A1",
    "prefixes": "AKIA",
    "joined prefixes": "eyJ-",
    "token parts": "eyJaaaaaaaa1.",
    "names": "token=",
    "open quotes": 'password="',
    "mixed quotes": "api_key='a\"b`",
    "weak passwords": "password: abcdefg1 ",
    "key headers": "-----BEGIN " + "PRIVATE KEY-----",
    "login urls": "://a:b@",
    "url starts": "://a:a:a:",
    "basic": "basic " * 5 + "A1" * 15,
    "bearer": "bearer a1",
    "spaces after a name": "token" + " " * 900,
    "options": " -u a --password ",
    "discord starts": "MT",
    "dots": "a1B" * 8 + ".",
    "escaped spaces": "-----BEGIN " + "PRIVATE KEY-----" + "\\n   " * 500,
    "dashes": "-",
    "quotes": '"',
    "typed": "token: str | ",
    "turkish": "İtoken: ",
    "brackets": "password: {a{a{",
    "angles": "password = <a<a<a ",
}


@pytest.mark.parametrize("piece", REPEATED.values(), ids=REPEATED)
def test_hostile_text_costs_time_in_proportion_to_its_length(piece):
    text = piece * (HOSTILE_LENGTH // len(piece))
    started = time.process_time()
    find_secrets(text)
    assert time.process_time() - started < 2.0  # measured: 0.01 to 0.6 s; a quadratic search takes minutes


@pytest.mark.parametrize(
    "piece", [TOKEN + " ", "DB_PASSWORD=" + TOKEN[4:20] + " "], ids=["tokens", "assignments"]
)
def test_one_line_full_of_secrets_is_read_in_linear_time(piece):
    started = time.process_time()
    findings = find_secrets(piece * 5000)
    assert len(findings) == 5000
    assert time.process_time() - started < 1.0


def test_ten_megabytes_of_noise_are_read_within_seconds():
    block = "".join(random.Random(5).choices("abcdefXYZ0189_-.:/=@\"' \n", k=100_000))
    started = time.process_time()
    find_secrets(block * 100)
    assert time.process_time() - started < 6.0


def test_importing_it_loads_nothing_heavy():
    probe = "import sys, engram.domain.admission.secrets; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    heavy = {"dataclasses", "pathlib", "hashlib", "logging", "json", "base64", "string", "random", "asyncio"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize(
    "text",
    ["run deploy -password Hunter2x99! now", "curl -uadmin:S3cretpw9 http://h/x", "set -token 9fK2mQ7xV1bZ8"],
)
def test_an_option_is_judged_in_a_text_as_in_its_file(text: str) -> None:
    """What is recorded must not be refused later, when its file with frontmatter is read."""
    head = "---\ncategory: FACT\n---\n\n"
    alone, filed = find_secrets(text), find_secrets(head + text)
    assert [found.rule for found in alone] == ["option-password"]
    assert [text[found.start : found.end] for found in alone] == [
        (head + text)[found.start : found.end] for found in filed
    ]


def found_in(text: str) -> list[tuple[str, str]]:
    """Rule and value of each secret."""
    return [(found.rule, text[found.start : found.end]) for found in find_secrets(text)]


@pytest.mark.parametrize(("rule", "token"), [("github-token", TOKEN), ("stripe-key", STRIPE)])
@pytest.mark.parametrize("before", ["", "token = ", "Authorization: Bearer ", "run --token ", "curl -u me:"])
def test_a_token_gets_the_rule_of_its_vendor_whatever_precedes_it(before: str, rule: str, token: str) -> None:
    assert found_in(f"{before}{token} and more") == [(rule, token)]


AWS_SECRET = made(40)
KEY_BLOCK = key_block("EC PRIVATE" + " KEY", 3)


@pytest.mark.parametrize(
    ("before", "secret", "rule"),
    [
        ("token = ", f"{TOKEN}-and.more", "github-token"),
        ("--token ", f"{TOKEN}:{STRIPE}", "github-token"),
        ("--password ", f"api_key={RANDOM}", "option-password"),
        ("--token ", "Q7zkvwmtLx2postgres://app:hT7kd92@db.test.net", "url-password"),
        ("--token ", f"Q7zkvwmtLx2https://{RANDOM}@git.test.net", "url-token"),
        (f"{KEY_ID} secret=", f"k-{AWS_SECRET}", "aws-secret-access-key"),
        ("curl -u me:", f"Q7zkvwmt{KEY_BLOCK}", "private-key"),
    ],
)
def test_overlapping_secrets_are_one_with_the_first_rule_of_a_vendor(
    before: str, secret: str, rule: str
) -> None:
    assert found_in(f"run {before}{secret} rest")[-1:] == [(rule, secret)]


JWT_LOGIN = b64encode(b"eyJ" + made(40).encode() + b":hT7kd92Lq").decode()


@pytest.mark.parametrize(
    ("before", "secret", "after", "rule"),
    [
        ("the password is ", STRIPE, " now", "stripe-key"),
        ("host=db\npassword=", STRIPE, "\n", "stripe-key"),
        ("| token |\n|---|\n| ", STRIPE, " |\n", "stripe-key"),
        ('passphrase "', f"green lake under {TOKEN}", '"', "github-token"),
        ("Authorization: Basic ", JWT_LOGIN, "\n", "jwt-base64"),
    ],
)
def test_a_token_gets_the_rule_of_its_vendor_in_sentences_settings_and_tables(
    before: str, secret: str, after: str, rule: str
) -> None:
    assert found_in(before + secret + after) == [(rule, secret)]


def test_a_text_is_judged_alone_as_at_the_end_of_a_long_one() -> None:
    prose = "Nothing but plain words. " * 20 + "\n"
    for text in [*NEGATIVES, *(before + secret + after for _, before, secret, after in POSITIVES)]:
        assert found_in(prose + text) == found_in(text)


def test_two_secrets_without_anything_between_them_are_two() -> None:
    assert found_in(TOKEN + KEY_BLOCK) == [("github-token", TOKEN), ("private-key", KEY_BLOCK)]


def test_a_secret_recognized_only_without_the_token_before_it_is_found() -> None:
    token = TOKEN + "9public"  # a public token's value were none
    assert found_in(f"see {token}_token={RANDOM} there") == [
        ("github-token", token),
        ("secret-assignment", RANDOM),
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Authorization: Bearer a8Kd92mQxZp4Lw7T", "authorization-bearer"),
        ("bearer a8Kd92mQxZp4Lw7T", "authorization-bearer"),
        ("The bearer of news: Bearer a8Kd92mQxZp4Lw7T", "authorization-bearer"),
        ("Authorization: Basic " + b64encode(b"ci:hT7kd92Lq").decode(), "authorization-basic"),
        ('auth = "Kd83mQ2xLp9Z"', "secret-assignment"),
        ("\t--api-key Kd83mQ2xLp9Z", "option-password"),
        ("curl -u me:9River", "option-password"),
        ("://app:hT7kd92@db.test.net", "url-password"),
    ],
)
def test_a_short_credential_is_found_alone_and_in_a_file_with_ids(text: str, rule: str) -> None:
    head = "---\nid: 01HZX3K9V7Q2M4N8P6R5S1T0WB\ncategory: FACT\n---\n\n"
    assert [name for name, _ in found_in(text)] == [rule]
    assert found_in(head + text) == found_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic YXV0aGVudGljYXRpb24=",
        "Authorization: Basic " + b64encode(b"ci:\x01\x02hT7kd92").decode(),
        "Basic 659dc12a7ed3f300a29a7a79e6",
        "curl -u me:changeme-2024",
        "curl -u me:blue",
        f"{KEY_ID} at commit 8d908b6c1f0a2e4d5b7c9a3f1e2d4c6b8a0f1e3d",
        f"{KEY_ID},wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    ],
)
def test_a_text_with_only_the_form_of_a_credential_is_ignored(text: str) -> None:
    assert [found for found in found_in(text) if found[1] != KEY_ID] == []


def test_an_aws_secret_is_found_within_300_characters_of_its_id() -> None:
    for blanks, secrets in ((260, [AWS_SECRET]), (261, [])):
        assert [value for _, value in found_in(KEY_ID + " " * blanks + AWS_SECRET)[1:]] == secrets
    for blanks, secrets in ((240, [AWS_SECRET]), (241, [])):
        assert [value for _, value in found_in(AWS_SECRET + " " * blanks + KEY_ID)] == [*secrets, KEY_ID]


def test_a_token_has_five_digits_or_capitals_where_a_slug_has_fewer() -> None:
    assert found_in("gl" + "pat-qzkvwmtrqzkvwmt7x3w9p2k8")
    assert not found_in("gl" + "pat-qzkvwmtrqzkvwmtxx3w9p2k8 of 20260817")


@pytest.mark.parametrize("team", ["T0A1B2C3D", "T0A1B2C3D4E", "T0A1B2C3D4E5F6G7H8"])
def test_a_webhook_with_long_ids_is_found(team: str) -> None:
    url = "hooks.slack" + f".com/workflows/{team}/B90384756129A7C5D8/aB3dE6gH9jK2mN5pQ8sT1vW4"
    assert found_in(f"POST https://{url}") == [("slack-webhook", url)]


def test_the_text_after_a_value_decides_even_if_the_same_words_were_rejected_before() -> None:
    line = "#" * 40 + " password: qz7kvwab"
    text = f"{line} and more\n{line}  # rotated\n{line} and more\n{line}\n{line} administrator too\n{line} administrator=me"
    assert [found.line for found in find_secrets(text)] == [2, 4, 6]
    assert found_in("pass=example-pass:hT7kd92Lqx9") == [("password-assignment", "hT7kd92Lqx9")]


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("hT7kd92Lqx9 rest", "hT7kd92Lqx9"),
        ("hT7kd92Lqx9,b", "hT7kd92Lqx9"),
        ("hT7kd92Lqx9)]} rest", "hT7kd92Lqx9"),
        ("hT7kd92L{qx9}z;k", "hT7kd92L{qx9}z"),
    ],
)
def test_an_unquoted_value_extends_to_the_next_separator_past_its_brackets(value: str, secret: str) -> None:
    text = f"password = {value}"
    assert [text[found.start : found.end] for found in find_secrets(text)] == [secret]


@pytest.mark.parametrize(
    ("password", "is_found"),
    [("qz7k", True), ("qz7", False), ("qzkvwm", True), ("qzkvw", False), ("deploy", False)],
)
def test_a_password_in_a_url_is_long_or_has_several_kinds_of_characters(
    password: str, is_found: bool
) -> None:
    assert bool(find_secrets(f"postgres://deploy:{password}@db.test.net/store")) is is_found


@pytest.mark.parametrize(
    ("password", "is_found"),
    [("qz7kvw", True), ("Q7zkvwmt", True), ("qz7kv", False), ("qzkvwmtr", False), ("app", False)],
)
@pytest.mark.parametrize("host", ["db.example.org", "localhost"])
def test_a_password_for_a_sample_host_needs_several_kinds_of_characters(
    host: str, password: str, is_found: bool
) -> None:
    assert bool(find_secrets(f"postgres://app:{password}@{host}/store")) is is_found


def test_a_mask_shows_four_characters_of_sixteen_or_more() -> None:
    assert mask("abcdefgh12345678") == "abcd…(16 characters)"
    assert mask("abcdefgh1234567") == "…(15 characters)"
    assert mask("ab\ndefgh12345678") == "…(16 characters)"


@pytest.mark.parametrize("owner", ["request", "idempotency", "lock", "message", "cache"])
def test_a_uuid_called_the_token_of_a_request_or_a_job_is_no_secret_and_that_of_a_deploy_is(
    owner: str,
) -> None:
    value = "7f3b2c1e-9d4a-4b6e-8c2f-1a5d3e7b9c04"
    assert not find_secrets(f"{owner}_token = {value}")
    assert find_secrets(f"deploy_token = {value}")
