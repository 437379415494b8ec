"""Find, mask and refuse secrets in text, before it is written, imported, indexed or pushed.

Most text is clean, so a single search for all words that occur next to secrets decides which patterns run, and where.
The bytes that are searched have the offsets of the text, since each character is one byte (non-ASCII ones become "?").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from re import Match

from engram.domain.admission import secret_rules as rules
from engram.domain.admission import secret_words as words
from engram.domain.admission.token_shapes import RULES, Rule
from engram.domain.errors import SecretFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

ALLOW_MARKERS = ("engram: allow-secret", "pragma: allowlist secret")
_MAX_ROUNDS = 6

_RUN = b"x" * 20
_RUN_CHARACTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+%"
_RUN_CLASSES = bytes(120 if byte in _RUN_CHARACTERS else 32 for byte in range(256))
_BEFORE_RUN = 110  # characters before a run: room for a name, or for the short ids in a webhook's URL
_SLUG_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz_-+%"
_STEMS, _PW = (b"auth", b"key", b"pass", b"pwd", b"secret", b"token"), b"pw"  # how the names of secrets begin
_SCHEMES = (b"basic", b"bearer")
_BY_WORD: dict[bytes, list[words.KeyedValue]] = {}
for _keyed_value in words.KEYED_VALUES:
    for _word in _keyed_value.words:
        _BY_WORD.setdefault(_word, []).append(_keyed_value)
_WORDS = (*_BY_WORD, *_STEMS, _PW, *_SCHEMES, b"://", b"-----begin ")
_BY_NEEDLE: dict[bytes, list[Rule]] = {}
for _rule in RULES:
    _BY_NEEDLE.setdefault(_rule.needle.encode(), []).append(_rule)
_NEEDLES = tuple(_BY_NEEDLE)
_SHORT = 200  # bytes; searching such a text word by word is faster than loading the library

# Words that mark a sentence, not a passphrase.
_SENTENCE_WORDS = frozenset(("a", "are", "be", "can", "is", "must", "not", "of", "should", "the", "to"))
_SEPARATORS = ("=", "&", "?", ",", ":", "/")  # a name after one of these does not begin a setting

_LOGIN_URL = (
    r"://(?P<user>[^\s/:@\"'<>`\[]{0,100}):(?P<value>[^\s/@\"'<>`]{1,256})@(?P<host>[^\s/:?#\"'<>`,;]{1,255})"
)
_HEADER = r"(?i:bearer[ \t]+(?P<bearer>[\w.~+/-]{16,}={0,2})|basic[ \t]+(?P<basic>[A-Za-z0-9+/]{8,}={0,2}))"
_OPTION = (
    r"-(?<=[ \t]-)(?:(?:u|-user)[ =\t]?[ \t]*[\"']?(?!\+%)[^\s:\"'$<{]{0,64}:(?P<login>[^\s\"'`]{4,256})"
    r"|-?(?P<name>[A-Za-z][\w-]{0,40})[ \t]{1,8}[\"']?(?P<value>[^\s\"'`<>${(-][^\s\"'`]{5,256}))"
)
_KEY_BLOCK = r"-----BEGIN (?:[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V[12])-----"
_KEY_BODY = r"[^-]*(?:-(?!----)[^-]*)*(?P<end>-----END [A-Za-z0-9 ]{0,30}-----)?"
_AWS_VALUE = r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"


class Finding(NamedTuple):
    """The place of a secret: `start`/`end` are offsets of its value, `line`/`column` (from 1) of its start.

    `preview` shows at most its first four characters.
    """

    rule: str
    line: int
    column: int
    start: int
    end: int
    preview: str

    def as_dict(self) -> dict[str, object]:
        """Return the finding for reports and JSON, without the secret."""
        return {"rule": self.rule, "line": self.line, "column": self.column, "preview": self.preview}


class _Span(NamedTuple):
    start: int
    end: int
    rule: str
    is_specific: bool  # found by a specific format, not by a name before it


def find_secrets(text: str, allowed: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return the secrets in a text in order, without overlaps; `allowed` has values or sha256 prefixes (12+ hex digits)."""
    spans = _scan(text) if text else []
    if not spans:
        return ()
    findings = _to_findings(text, _scan_again(text, spans), any(marker in text for marker in ALLOW_MARKERS))
    if not allowed:
        return tuple(findings)
    return tuple(found for found in findings if not _is_allowed(text[found.start : found.end], allowed))


def redact(text: str, findings: Sequence[Finding]) -> str:
    """Return the text with each finding's secret replaced by "[redacted: <rule>]", all else untouched."""
    if not findings:
        return text
    parts, at = [], 0
    for finding in findings:
        parts += [text[at : finding.start], f"{rules.REDACTED}{finding.rule}]"]
        at = finding.end
    return "".join([*parts, text[at:]])


def refuse(findings: Sequence[Finding], what: str) -> SecretFoundError:
    """Return the error that says `what` (for example "the entry") holds secrets; raise it instead of writing."""
    first = findings[0]
    more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    where = f"line {first.line}, column {first.column}"
    return SecretFoundError(
        f"Nothing was written: {what} holds what looks like a secret "
        f"({first.rule} {first.preview}, {where}{more}).",
        "Remove it, or pass --redact to store it as [redacted: …]. For a false positive, end its line with "
        f'"{ALLOW_MARKERS[0]}".',
        tuple(finding.as_dict() for finding in findings),
    )


def mask(secret: str) -> str:
    """Return a preview of a secret: its length, and its first four characters if it has at least 16."""
    head = secret[:4] if len(secret) >= 16 and secret[:4].isprintable() else ""
    return f"{head}…({len(secret)} characters)"


def _scan_again(text: str, spans: list[_Span]) -> list[_Span]:
    """Scan repeatedly with the found secrets blanked, since some are recognized only without their neighbours."""
    found = _merge_spans(spans)
    for _ in range(_MAX_ROUNDS):
        more = _scan(_blank_spans(text, found))
        if not more:
            break
        found = _merge_spans(found + more)
    return found


def _blank_spans(text: str, spans: list[_Span]) -> str:
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], "[" + " " * (span.end - span.start - 2) + "]"]
        at = span.end
    return "".join([*parts, text[at:]])


def _merge_spans(spans: list[_Span]) -> list[_Span]:
    """Merge overlapping spans, keeping the rule of the first specific one."""
    merged: list[_Span] = []
    for span in sorted(spans):
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
        else:
            last = merged[-1]
            rule = span.rule if span.is_specific and not last.is_specific else last.rule
            is_specific = last.is_specific or span.is_specific
            merged[-1] = _Span(last.start, max(last.end, span.end), rule, is_specific)
    return merged


def _to_findings(text: str, spans: list[_Span], has_marker: bool) -> Iterator[Finding]:
    """Yield the findings of the spans, except on lines with a marker; `has_marker` says whether the text has one."""
    line, line_start, line_end, is_allowed = 0, 0, -1, False
    for span in spans:
        if span.start > line_end:  # check each line once, however many secrets it contains
            line += text.count("\n", line_end + 1, span.start) + 1
            line_start = max(text.rfind("\n", line_end + 1, span.start), line_end) + 1
            line_end = text.find("\n", span.start)
            line_end = len(text) if line_end < 0 else line_end
            is_allowed = has_marker and any(
                text.find(marker, line_start, line_end) >= 0 for marker in ALLOW_MARKERS
            )
        if not is_allowed:
            preview = mask(text[span.start : span.end])
            yield Finding(span.rule, line, span.start - line_start + 1, span.start, span.end, preview)


def _is_allowed(value: str, allowed: Sequence[str]) -> bool:
    if value in allowed:
        return True
    prefixes = [entry.removeprefix("sha256:").lower() for entry in allowed]
    prefixes = [prefix for prefix in prefixes if rules.compile_rule(r"[0-9a-f]{12,64}").fullmatch(prefix)]
    if not prefixes:
        return False
    from hashlib import sha256  # takes 2 ms, needed only if a hash is allowed

    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return digest.startswith(tuple(prefixes))


def _scan(text: str) -> list[_Span]:
    """Return the spans of all secrets found by any rule; they may overlap."""
    raw = text.encode("ascii", "replace")
    lowered = raw.lower()
    places = _find_words(lowered)
    spans = [*_keyed_values(text, lowered, places)]
    runs = _long_runs(raw)
    if runs:
        spans += _vendor_tokens(text, runs)
    if b"-----begin " in places:
        spans += _key_blocks(text)
    for scheme in _SCHEMES:
        if scheme in places:
            spans += _headers(text, places[scheme])
    if b"://" in places:
        spans += _login_urls(text, places[b"://"])
        spans += _token_urls(text, places[b"://"])
    spans += _near_names(text, raw, lowered, places)
    # Most texts have no options and need not compile the long pattern.
    if rules.compile_rule(rb"-(?<=[ \t]-)[\w-]").search(raw):
        spans += _options(text)
    return spans


def _find_words(lowered: bytes) -> dict[bytes, list[int]]:
    """Return the offsets of each of `_WORDS` that occurs in a text."""
    places: dict[bytes, list[int]] = {}
    if len(lowered) <= _SHORT:
        for word in _WORDS:
            at = lowered.find(word)
            while at >= 0:
                places.setdefault(word, []).append(at)
                at = lowered.find(word, at + 1)
        return places
    for number, start, _ in _automaton(_WORDS).find_matches_as_indexes(lowered, overlapping=True):
        places.setdefault(_WORDS[number], []).append(start)
    return places


@cache
def _automaton(patterns: tuple[bytes, ...]) -> BytesAhoCorasick:
    """Return an automaton that finds many byte strings in a single pass."""
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick(patterns)


def _near_names(text: str, raw: bytes, lowered: bytes, places: Mapping[bytes, list[int]]) -> list[_Span]:
    """Return the secrets next to the names of secrets."""
    names = _find_names(lowered, places)
    if not names:
        return []
    spans = [*_assignments(text, names)]
    spans += _find_in_sentences(text, names)
    spans += _find_in_prose(text, names)
    if b"\n|" in raw:
        spans += _find_in_tables(text)
    if b"passphrase" in lowered:
        spans += _find_phrases(text)
    return spans


def _long_runs(raw: bytes) -> bytes:
    """Return the runs of 20 and more token characters with the text before them; most texts have none."""
    classes = raw.translate(_RUN_CLASSES)
    found: list[bytes] = []
    start = classes.find(_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(raw) if end < 0 else end
        # Every vendor's token has digits or capitals; slugs and table rules have few.
        if len(raw[start:end].translate(None, _SLUG_CHARACTERS)) >= 5:
            found.append(raw[max(0, start - _BEFORE_RUN) : end])
        start = classes.find(_RUN, end)
    return b"\n".join(found)


def _vendor_tokens(text: str, runs: bytes) -> Iterator[_Span]:
    hits = _automaton(_NEEDLES).find_matches_as_indexes(runs, overlapping=True)
    for needle in {_NEEDLES[number] for number, _, _ in hits}:
        for rule in _BY_NEEDLE[needle]:
            yield from _rule_tokens(text, rule)


def _rule_tokens(text: str, rule: Rule) -> Iterator[_Span]:
    match = rules.compile_rule(rule.pattern).match
    at = text.find(rule.needle)
    while at >= 0:
        for back in rule.back:
            hit = match(text, at - back) if at >= back else None
            if hit:
                start, end = hit.span("value" if "value" in hit.re.groupindex else 0)
                if not rules.is_sample(text[start:end]):
                    yield _Span(start, end, rule.name, True)
                    if rule.name == "aws-access-key-id":
                        yield from _aws_secrets(text, end)
                break
        at = text.find(rule.needle, at + len(rule.needle))


def _aws_secrets(text: str, after: int) -> Iterator[_Span]:
    """Yield 40-character keys near a key id, named or not, as in the CSV file and the output of the console."""
    for hit in rules.compile_rule(_AWS_VALUE).finditer(text, max(0, after - 300), after + 300):
        if rules.kinds(hit[0]) >= 3 and not rules.is_sample(hit[0]):
            yield _Span(*hit.span(), "aws-secret-access-key", True)


def _keyed_values(text: str, lowered: bytes, places: Mapping[bytes, list[int]]) -> Iterator[_Span]:
    """Yield the secrets after words of `KEYED_VALUES`."""
    for word, starts in places.items():
        for rule in _BY_WORD.get(word, ()):
            if rule.needs not in lowered:
                continue
            match, end = rules.compile_rule(rule.pattern).match, 0
            for start in starts:
                hit = match(text, start) if start >= end else None
                if hit:
                    end = hit.end()
                    if rules.is_keyed_secret(hit["value"], rule.name):
                        # The format of a token is more specific than the scheme before it.
                        yield _Span(*hit.span("value"), rule.name, rule.name != "authorization-token")


def _find_in_sentences(text: str, names: Sequence[int]) -> Iterator[_Span]:
    """Yield passwords in sentences."""
    match = rules.compile_rule(rules.PROSE).match
    for at in names:
        hit = match(text, at) if text[at] in "pP" else None
        if hit:
            value = hit["value"].rstrip(".,;:)*_")
            if rules.contains_password(hit, value):
                yield _Span(hit.start("value"), hit.start("value") + len(value), "password-prose", False)


def _find_in_prose(text: str, names: Sequence[int]) -> Iterator[_Span]:
    """Yield values close to the name of a secret, and passwords in settings that contain separators."""
    match_prose = rules.compile_rule(rules.NAMED_IN_PROSE).match
    match_setting = rules.compile_rule(rules.SETTING).match
    for at in names:
        hit = match_prose(text, at)
        if hit:
            value = hit["value"].rstrip(".,;:)*_")
            rule = rules.rule_in_prose(text, hit, value)
            if rule:
                yield _Span(hit.start("value"), hit.start("value") + len(value), rule, False)
        if text[at] in "pPtTsSkK" and text[at - 1 : at] not in _SEPARATORS:
            hit = match_setting(text, at)
            if hit and (rule := rules.rule_of_setting(text, hit)):
                yield _Span(*hit.span("value"), rule, False)


def _find_phrases(text: str) -> Iterator[_Span]:
    """Yield passphrases of several words in quotes."""
    pattern = r"(?i:passphrase)\b(?:[^\n\"'`]{0,60}?(?::|\b(?i:is|was|to)))?[ \t]+[\"'`](?P<value>\w+(?:[ -]\w+){3,})[\"'`]"
    for hit in rules.compile_rule(pattern).finditer(text):
        if _SENTENCE_WORDS.isdisjoint(hit["value"].lower().split()):
            yield _Span(*hit.span("value"), "passphrase", False)


def _find_in_tables(text: str) -> Iterator[_Span]:
    """Yield secrets below a heading such as "password" or "auth token" of a Markdown table."""
    cells = rules.compile_rule(r"\|[ \t]*[*_]{0,2}`?(?P<value>[^|\n]*?)`?[*_]{0,2}[ \t]*(?=\|)")
    name = rules.compile_rule(r"(?:[a-z]+[ _-])?(?:pass(?:wor[dt]|wd)?|mot de passe|token|secret|key)")
    head = r"(?im)^[ \t]*(?P<cells>\|[^\n]*(?:pass|token|secret|key)[^\n]*)\n[ \t]*\|[ \t:|-]+\n(?P<rows>(?:[ \t]*\|[^\n]*\n?)*)"
    for table in rules.compile_rule(head).finditer(text):
        headings = [cell["value"].lower() for cell in cells.finditer(table["cells"])]
        if not any(map(name.fullmatch, headings)):
            continue
        for row in rules.compile_rule(r"[^\n]+").finditer(text, *table.span("rows")):
            for heading, cell in zip(headings, cells.finditer(text, *row.span()), strict=False):
                if name.fullmatch(heading) and rules.is_secret_cell(cell["value"], heading):
                    yield _Span(*cell.span("value"), "secret-table", False)


def _key_blocks(text: str) -> Iterator[_Span]:
    """Yield whole private key blocks; a header without a key after it (prose, a shortened sample) is none."""
    at = 0
    while head := rules.compile_rule(_KEY_BLOCK).search(text, at):
        body = rules.compile_rule(_KEY_BODY).match(text, head.end())
        at = body.end() if body else head.end()
        end = at
        if body and body["end"] is None:
            lines = rules.compile_rule(r"(?:(?:\\[rn]|[\s\"'+,>#|])*[A-Za-z0-9+/=:]{20,})*").match(
                text, head.end()
            )
            end = lines.end() if lines else head.end()
        if rules.compile_rule(r"[A-Za-z0-9+/]{24}").search(text, head.end(), end):
            yield _Span(head.start(), end, "private-key", True)


def _login_urls(text: str, places: Sequence[int]) -> Iterator[_Span]:
    match = rules.compile_rule(_LOGIN_URL).match
    for at in places:
        hit = match(text, at)
        if hit and _is_login(hit["user"], hit["value"], hit["host"]):
            yield _Span(*hit.span("value"), "url-password", True)


def _token_urls(text: str, places: Sequence[int]) -> Iterator[_Span]:
    """Yield tokens alone before the host of a URL, as git accepts them."""
    match = rules.compile_rule(r"://(?P<value>[\w.~+%-]{20,256})@[\w.-]+").match
    for at in places:
        hit = match(text, at)
        if hit and rules.is_random(hit["value"]) and not rules.is_placeholder(hit["value"]):
            yield _Span(*hit.span("value"), "url-token", True)


def _is_login(user: str, password: str, host: str) -> bool:
    if len(password) < 4 or password == user or rules.is_placeholder(password):
        return False
    if rules.compile_rule(rules.LOCAL_HOST).match(host):
        return rules.is_password(password, sure=True) and rules.kinds(password) >= 2
    return len(password) >= 6 or rules.kinds(password) >= 2


def _headers(text: str, places: Sequence[int]) -> Iterator[_Span]:
    """Yield credentials after "Bearer" or "Basic", in an Authorization header or alone."""
    match = rules.compile_rule(_HEADER).match
    for at in places:
        hit = match(text, at)
        if not hit:
            continue
        bearer, basic = hit["bearer"], hit["basic"]
        if bearer and rules.is_random(bearer) and not rules.is_placeholder(bearer):
            yield _Span(*hit.span("bearer"), "authorization-bearer", False)
        if basic and _is_basic_login(basic):
            yield _Span(*hit.span("basic"), "authorization-basic", False)


def _is_basic_login(encoded: str) -> bool:
    """Return whether base64 encodes "user:password" (RFC 7617) with a password that is no placeholder."""
    from binascii import Error, a2b_base64

    try:
        user, colon, password = a2b_base64(encoded).decode().partition(":")
    except (Error, UnicodeDecodeError):
        return False
    return (
        bool(colon)
        and not rules.is_sample(encoded)
        and password.isprintable()
        and _is_login(user, password, "")
    )


def _options(text: str) -> Iterator[_Span]:
    """Yield values of command-line options: "-u user:password", "--password value", "--api-key value"."""
    for hit in rules.compile_rule(_OPTION).finditer(text):
        if hit["login"]:
            if rules.is_password(hit["login"], sure=True) and not rules.is_placeholder(hit["login"]):
                yield _Span(*hit.span("login"), "option-password", False)
        elif rules.is_secret_option(hit["name"], hit["value"]) or (
            hit["name"] == "a" and "redis-cli" in text[max(0, hit.start() - 120) : hit.start()]
        ):
            yield _Span(*hit.span("value"), "option-password", False)


def _find_names(lowered: bytes, places: Mapping[bytes, list[int]]) -> list[int]:
    """Return the offsets of the stems of names; the shortest, `pw`, only if it ends the name."""
    found = [at for at in places.get(_PW, ()) if not lowered[at + 2 : at + 3].replace(b"_", b"a").isalnum()]
    for stem in _STEMS:
        found += places.get(stem, ())
    return found


def _assignments(text: str, names: list[int]) -> Iterator[_Span]:
    gate = rules.compile_rule(rules.ASSIGNMENT_GATE).match
    match = rules.compile_rule(rules.ASSIGNMENT).match
    for at in names:
        hit = match(text, at) if gate(text, at) else None
        if hit and (rule := rules.rule_of(text, hit)):
            yield _Span(*_value_bounds(text, hit), rule, False)


def _value_bounds(text: str, hit: Match[str]) -> tuple[int, int]:
    """Return the bounds of the value; an unquoted one extends to the next space or separator, without closing brackets."""
    if hit["quoted"]:
        return hit.span("quoted")
    rest = rules.compile_rule(r"[^\s\"'`,;&<>]{0,200}").match(text, hit.end())
    end = rest.end() if rest else hit.end()
    return hit.start("bare"), hit.end() + len(text[hit.end() : end].rstrip(")]}"))
