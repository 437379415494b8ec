"""Find, mask and refuse secrets in text, before it is written, imported, indexed or pushed.

Most text is clean, so cheap byte searches decide which of the patterns need to run at all. Offsets stay those
of the text because every byte stands for one character (others than ASCII become "?").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from re import Match

from engram.domain.admission import secret_rules as rules
from engram.domain.admission import secret_words as words
from engram.domain.admission.token_shapes import RULES, Rule
from engram.domain.errors import SecretFoundError
from engram.domain.typed import NamedTuple

ALLOW_MARKERS = ("engram: allow-secret", "pragma: allowlist secret")
MOST_ROUNDS = 6
MOST_REMEMBERED = 1000

_RUN = b"x" * 20
_RUN_CHARACTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+%"
_RUN_CLASSES = bytes(120 if byte in _RUN_CHARACTERS else 32 for byte in range(256))
_BEFORE_RUN = 110  # a webhook's address ends in one, after ids too short to be one; a name stands before it
_PLAIN = b"abcdefghijklmnopqrstuvwxyz_-+%"
_BY_SIGN: dict[str, dict[bytes, list[words.KeyedValue]]] = {}
for _rule in words.KEYED_VALUES:
    _BY_SIGN.setdefault(_rule.sign, {}).setdefault(_rule.needs, []).append(_rule)
# The stems of names that begin alike: one search for each of these costs half of four.
_PASS = rb"p(?=ass|wd|w\b)"
_KEY = rb"ke(?=y|(?<=toke)(n))"

_SENTENCE_WORDS = frozenset(
    ("a", "are", "be", "can", "is", "must", "not", "of", "should", "the", "to")
)  # in no passphrase
_JOINTS = ("=", "&", "?", ",", ":", "/")  # before a name: no line begins here

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
    """A secret's place: `start`/`end` are offsets of its value, `line`/`column` (from 1) where it starts.

    `preview` shows at most its first four characters.
    """

    rule: str
    line: int
    column: int
    start: int
    end: int
    preview: str

    def as_dict(self) -> dict[str, object]:
        """Return the finding for reports and JSON; the secret is not in it."""
        return {"rule": self.rule, "line": self.line, "column": self.column, "preview": self.preview}


class _Span(NamedTuple):
    start: int
    end: int
    rule: str
    named: bool  # by a vendor's shape rather than by the name before it


def find_secrets(text: str, allowed: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return the secrets of a text, in order, not overlapping; `allowed`: values or sha256 prefixes (12+ hex)."""
    spans = _scan(text) if text else []
    if not spans:
        return ()
    findings = _findings(text, _all_rounds(text, spans), any(marker in text for marker in ALLOW_MARKERS))
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
    """Return the error that says `what` (for example "the lore") holds secrets; raise it instead of writing."""
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
    """Return what may be shown of a secret: its first four characters if it is long enough to keep the rest safe."""
    head = secret[:4] if len(secret) >= 16 and secret[:4].isprintable() else ""
    return f"{head}…({len(secret)} characters)"


def _all_rounds(text: str, spans: list[_Span]) -> list[_Span]:
    """Yield spans repeatedly with the found ones blanked: text next to a secret may be one only then."""
    found = _merge_spans(spans)
    for _ in range(MOST_ROUNDS):
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
    """Overlapping spans as one, called by the vendor's name where one of them has it."""
    merged: list[_Span] = []
    for span in sorted(spans):
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
            continue
        last = merged[-1]
        rule = span.rule if span.named and not last.named else last.rule
        merged[-1] = _Span(last.start, max(last.end, span.end), rule, last.named or span.named)
    return merged


def _findings(text: str, spans: list[_Span], marked: bool) -> Iterator[Finding]:
    """Findings of the spans but those on a line that a marker allows; `marked`: the text holds a marker."""
    line, line_start, line_end, allows = 0, 0, -1, False
    for span in spans:
        if span.start > line_end:  # each line is looked at once, however many secrets it holds
            line += text.count("\n", max(line_end, 0), span.start) + (not line)
            line_start = text.rfind("\n", max(line_end, 0), span.start) + 1 or max(line_start, 0)
            line_end = text.find("\n", span.start)
            line_end = len(text) if line_end < 0 else line_end
            allows = marked and any(text.find(marker, line_start, line_end) >= 0 for marker in ALLOW_MARKERS)
        if not allows:
            preview = mask(text[span.start : span.end])
            yield Finding(span.rule, line, span.start - line_start + 1, span.start, span.end, preview)


def _is_allowed(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed or _hash_allowed(value, allowed)


def _hash_allowed(value: str, allowed: Sequence[str]) -> bool:
    prefixes = [entry.removeprefix("sha256:").lower() for entry in allowed]
    prefixes = [prefix for prefix in prefixes if rules.compile_rule(r"[0-9a-f]{12,64}").fullmatch(prefix)]
    if not prefixes:
        return False
    from hashlib import sha256  # 2 ms of start-up that only such an entry pays

    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return digest.startswith(tuple(prefixes))


def _scan(text: str) -> list[_Span]:
    """Return every span that a rule calls a secret; they may overlap."""
    raw = text.encode("ascii", "replace")
    lowered = raw.lower()
    spans = [*_keyed(text, lowered, lowered, words.ANYWHERE)]
    runs = _long_runs(text, raw)
    if runs:
        spans += _vendor_tokens(text, runs)
        spans += _keyed(text, lowered, runs.lower().encode("ascii", "replace"), words.RUN)
    if "-----BEGIN " in text:
        spans += _key_blocks(text)
    for scheme in (b"bearer", b"basic"):
        if scheme in lowered:
            spans += _headers(text, lowered, scheme)
    if b"://" in raw:
        spans += _login_urls(text)
        spans += _token_urls(text)
    spans += _named(text, raw, lowered)
    for sign, pattern in words.SIGNS.items():
        if rules.compile_rule(pattern).search(lowered):
            spans += _keyed(text, lowered, lowered, sign)
            if sign == words.OPTION and rules.compile_rule(_OPTION).search(text):
                spans += _options(text)
    return spans


def _named(text: str, raw: bytes, lowered: bytes) -> list[_Span]:
    """Return what stands by the name of a secret."""
    names = _names(lowered)
    if not names:
        return []
    spans = [*_keyed(text, lowered, lowered, words.NAME), *_assignments(text, names)]
    spans += _prose(text, names)
    spans += _find_in_prose(text, names)
    if b"\n|" in raw:
        spans += _columns(text)
    if b"passphrase" in lowered:
        spans += _find_phrases(text)
    return spans


def _long_runs(text: str, raw: bytes) -> str:
    """Return the runs of 20 and more token characters with what stands just before them; most text has none."""
    classes = raw.translate(_RUN_CLASSES)
    found: list[str] = []
    start = classes.find(_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(raw) if end < 0 else end
        # Slugs and table rules hold next to no digits and capitals; every vendor's token does.
        if len(raw[start:end].translate(None, _PLAIN)) >= 5:
            found.append(text[max(0, start - _BEFORE_RUN) : end])
        start = classes.find(_RUN, end)
    return "\n".join(found)


def _vendor_tokens(text: str, runs: str) -> Iterator[_Span]:
    signed, others = _rules_by_sign()
    found = {rule for needle, rule in others if needle in runs}
    for sign, by_end in signed.items():
        for piece in runs.split(sign)[:-1]:
            for rule in by_end.get(piece[-2:], ()):
                if rule.needle in runs:
                    found.add(rule)
    for rule in found:
        yield from _rule_tokens(text, rule)


@cache
def _rules_by_sign() -> tuple[dict[str, dict[str, list[Rule]]], list[tuple[str, Rule]]]:
    """Return the rules by the first sign of their needle and the two characters before it; those without one."""
    signed: dict[str, dict[str, list[Rule]]] = {"_": {}, "-": {}, ".": {}}
    others: list[tuple[str, Rule]] = []
    for rule in RULES:
        sign = next((sign for sign in signed if rule.needle.find(sign) >= 2), "")
        if sign:
            end = rule.needle.partition(sign)[0][-2:]
            signed[sign].setdefault(end, []).append(rule)
        else:
            others.append((rule.needle, rule))
    return signed, others


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
    """Yield the 40 characters beside a key id, as in the CSV file and the console's output, named or not."""
    for hit in rules.compile_rule(_AWS_VALUE).finditer(text, max(0, after - 300), after + 300):
        if rules.kinds(hit[0]) >= 3 and not rules.is_sample(hit[0]):
            yield _Span(*hit.span(), "aws-secret-access-key", True)


def _keyed(text: str, lowered: bytes, there: bytes, sign: str) -> Iterator[_Span]:
    """Yield secrets known by words, of those with this sign; the words stand in `there`."""
    for need, group in _BY_SIGN[sign].items():
        if need in there:
            for rule in group:
                for word in rule.words:
                    if word in there:
                        yield from _find_keyed(text, lowered, word, rule)


def _find_keyed(text: str, lowered: bytes, word: bytes, rule: words.KeyedValue) -> Iterator[_Span]:
    """Yield what follows a word that makes it a secret."""
    match = rules.compile_rule(rule.pattern).match
    at = lowered.find(word)
    while at >= 0:
        hit = match(text, at)
        if hit and rules.is_keyed_secret(hit["value"], rule.name):
            # A scheme says less than the shape of the token behind it.
            yield _Span(*hit.span("value"), rule.name, rule.name != "authorization-token")
        at = lowered.find(word, hit.end() if hit else at + len(word))


def _prose(text: str, names: Sequence[int]) -> Iterator[_Span]:
    """Yield passwords in sentences."""
    match = rules.compile_rule(rules.PROSE).match
    for at in names:
        hit = match(text, at) if text[at] in "pP" else None
        if hit:
            value = hit["value"].rstrip(".,;:)*_")
            if rules.names_password(hit, value):
                yield _Span(hit.start("value"), hit.start("value") + len(value), "password-prose", False)


def _find_in_prose(text: str, names: Sequence[int]) -> Iterator[_Span]:
    """Yield values that stand close to the name of a secret, and passwords of settings that hold separators."""
    told, setting = rules.compile_rule(rules.NAMED_IN_PROSE).match, rules.compile_rule(rules.SETTING).match
    for at in names:
        hit = told(text, at)
        if hit:
            value = hit["value"].rstrip(".,;:)*_")
            rule = rules.rule_in_prose(text, hit, value)
            if rule:
                yield _Span(hit.start("value"), hit.start("value") + len(value), rule, False)
        hit = setting(text, at) if text[at] in "pPtTsSkK" and text[at - 1 : at] not in _JOINTS else None
        if hit and rules.is_setting_value(text, hit):
            yield _Span(*hit.span("value"), _setting_rule(hit["word"]), False)


def _setting_rule(word: str) -> str:
    return "password-assignment" if word[0] in "pP" else "secret-assignment"


def _find_phrases(text: str) -> Iterator[_Span]:
    """Yield passphrases of several words in quotes."""
    pattern = r"(?i:passphrase)\b(?:[^\n\"'`]{0,60}?(?::|\b(?i:is|was|to)))?[ \t]+[\"'`](?P<value>\w+(?:[ -]\w+){3,})[\"'`]"
    for hit in rules.compile_rule(pattern).finditer(text):
        if _SENTENCE_WORDS.isdisjoint(hit["value"].lower().split()):
            yield _Span(*hit.span("value"), "passphrase", False)


def _columns(text: str) -> Iterator[_Span]:
    """Yield what stands below a heading such as "password" or "auth token" of a Markdown table."""
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
    """Whole private key blocks; a header without a key after it (prose, an elided sample) is none."""
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


def _login_urls(text: str) -> Iterator[_Span]:
    match = rules.compile_rule(_LOGIN_URL).match
    at = text.find("://")
    while at >= 0:
        hit = match(text, at)
        if hit and _is_login(hit["user"], hit["value"], hit["host"]):
            yield _Span(*hit.span("value"), "url-password", True)
        at = text.find("://", at + 3)


def _token_urls(text: str) -> Iterator[_Span]:
    """Yield tokens that stand alone before the host of an address, as git takes them."""
    match = rules.compile_rule(r"://(?P<value>[\w.~+%-]{20,256})@[\w.-]+").match
    at = text.find("://")
    while at >= 0:
        hit = match(text, at)
        if hit and rules.is_random(hit["value"]) and not rules.is_stand_in(hit["value"]):
            yield _Span(*hit.span("value"), "url-token", True)
        at = text.find("://", at + 3)


def _is_login(user: str, password: str, host: str) -> bool:
    if len(password) < 4 or password == user or rules.is_stand_in(password):
        return False
    if rules.compile_rule(rules.LOCAL_HOST).match(host):
        return rules.is_password(password, sure=True) and rules.kinds(password) >= 2
    return len(password) >= 6 or rules.kinds(password) >= 2


def _headers(text: str, lowered: bytes, scheme: bytes) -> Iterator[_Span]:
    """Credentials after "Bearer" or "Basic", in an Authorization header or alone."""
    match = rules.compile_rule(_HEADER).match
    at = lowered.find(scheme)
    while at >= 0:
        hit = match(text, at)
        if hit and hit["bearer"] and rules.is_random(hit["bearer"]) and not rules.is_stand_in(hit["bearer"]):
            yield _Span(*hit.span("bearer"), "authorization-bearer", False)
        if hit and hit["basic"] and _is_basic_login(hit["basic"]):
            yield _Span(*hit.span("basic"), "authorization-basic", False)
        at = lowered.find(scheme, hit.end() if hit else at + len(scheme))


def _is_basic_login(encoded: str) -> bool:
    """Return whether base64 holds "user:password" (RFC 7617) with a password that is no stand-in."""
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
    """Values of command-line options: "-u user:password", "--password value", "--api-key value"."""
    for hit in rules.compile_rule(_OPTION).finditer(text):
        if hit["login"]:
            if rules.is_password(hit["login"], sure=True) and not rules.is_stand_in(hit["login"]):
                yield _Span(*hit.span("login"), "option-password", False)
        elif rules.is_secret_option(hit["name"], hit["value"]) or (
            hit["name"] == "a" and "redis-cli" in text[max(0, hit.start() - 120) : hit.start()]
        ):
            yield _Span(*hit.span("value"), "option-password", False)


def _names(lowered: bytes) -> list[int]:
    """Return where the stem of a name begins: pass, pwd, pw, key, token, secret, auth."""
    found: list[int] = []
    for pattern in (_PASS, _KEY):
        search = rules.compile_rule(pattern).search
        hit = search(lowered)
        while hit:
            found.append(hit.start() - 2 * (hit.lastindex or 0))  # "token" begins two letters before its "ke"
            hit = search(lowered, hit.end())
    for stem in (b"secret", b"auth"):
        at = lowered.find(stem)
        while at >= 0:
            found.append(at)
            at = lowered.find(stem, at + len(stem))
    return found


def _assignments(text: str, names: list[int]) -> Iterator[_Span]:
    gate = rules.compile_rule(rules.ASSIGNMENT_GATE).match
    match = rules.compile_rule(rules.ASSIGNMENT).match
    # Hostile text repeats itself; each repeat costs a look-up instead of a judgement.
    refused: set[tuple[int, str]] = set()
    for at in names:
        hit = match(text, at) if gate(text, at) else None
        if hit is None:
            continue
        # Where the name stands in all that `rule_of` looks at, up to a comment.
        context = min(at, 40), text[max(0, at - 40) : hit.end() + 11]
        if context in refused:
            continue
        rule = rules.rule_of(text, hit)
        if rule:
            yield _Span(*_value_bounds(text, hit), rule, False)
        elif len(refused) < MOST_REMEMBERED:
            refused.add(context)


def _value_bounds(text: str, hit: Match[str]) -> tuple[int, int]:
    """Return where the value stands; a bare one reaches to the next space or separator, past its brackets."""
    if hit["quoted"]:
        return hit.span("quoted")
    rest = rules.compile_rule(r"[^\s\"'`,;&<>]{0,200}").match(text, hit.end())
    end = rest.end() if rest else hit.end()
    return hit.start("bare"), hit.end() + len(text[hit.end() : end].rstrip(")]}"))
