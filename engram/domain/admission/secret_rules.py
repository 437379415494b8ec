"""Recognize secrets without a specific format by their context, and tell passwords from placeholders.

Every pattern is linear: its runs use the same characters as the guard it starts with,
so no character is read more than a few times.
"""

from __future__ import annotations

import re
from functools import cache

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import AnyStr


def _words(line: str) -> list[str]:
    return line.split()


_ADVERB = r"(?:still|now|just|currently|jetzt|nun|noch|maintenant|ahora)"

# "The password for the staging database is …", "… was changed to …": unquoted, so it has to look like one. Also matches
# languages with a similar word for it.
PROSE = (
    r"(?i:pass(?:wor[dt]|phrase|code|wd|e)|pwd|(?<![a-z0-9])pw)s?\b(?P<between>[^\n\"'`=:;{}()<>|]{0,70}?)"
    r"(?:(?P<colon>:|[ \t]=)|(?i:\b(?:is|was|are|to|ist|lautet|war|est|es|era)(?:[ \t]+" + _ADVERB + r")?):?)"
    r"[ \t]+[*_]{0,2}[\"'`\u201c]?"
    r"(?P<value>(?=[^\s]*[0-9])[^\s\"'`<>()\u201c\u201d]{6,64})"
)

# "Use the password …", "| password | … |", "the client secret (…)", "set API_KEY to …": the value is at most a few short
# words away, and has to look generated.
NAMED_IN_PROSE = (
    r"(?i:(?P<word>pass(?:wor[dt]|phrase|code|wd|e)?|pwd|secret|token|key)s?)\b\"?'?`?"
    r"(?P<between>(?:[ \t]+[A-Za-zà-ÿ]{1,12}){0,5}?"
    r"(?P<says>[ \t]*:|[ \t]+(?:is|was|to|as|es|ist|est|are)(?:[ \t]+(?:set to|" + _ADVERB + r"))?:?)?"
    r"(?:[ \t]*\|)?[ \t]*[(\[]?)[*_]{0,2}[\"'`\u201c]?(?<=[\s(|\"'`*\u201c])"
    r"(?P<value>[^\s\"'`<>()\[\]{}|\u201c\u201d]{8,256})(?P<after>[\"'`)\]*\u201d]|[ \t]*\||[.,;:!?]?(?=\s|$))"
)
# If the line is a setting, its password may contain characters that separate values elsewhere.
SETTING = (
    r"(?i:(?P<word>pass(?:word|wd|phrase)?|pwd|token|secret|key))(?:[ \t]{0,4}[=:][ \t]{0,4}|>)"
    r"(?P<value>[^\s\"'`<>,;{}()\[\]$]{8,256})(?=[ \t]*(?:$|[\n\r;#]|</))"
)
_UNRELATED = r"(?i)\b(?:commit|revision|hash|digest|sha|checksum|fingerprint|id|called|named|in|from|at|see|of|length|type|by)\b"
_STANDARD_NAME = r"[A-Z]{2,}-?[0-9][0-9.-]*[A-Z]?"  # NIST-800-63B, SHA256

# Words before "key" in the names of secrets; others ("primary key", "cache_key") are no secrets.
KEY_QUALIFIERS = tuple(
    _words(
        "api apis app secret access private auth authentication encryption encrypt signing master account "
        "shared service license licence storage admin client session hmac aes jwt write subscription "
        "instrumentation functions deploy server consumer integration ingest rest application "
    )
)
NON_SECRET_QUALIFIERS = frozenset(
    _words(
        "public publickey publishable primary foreign cache partition sort site next page nextpage continuation "
        "csrf xsrf pad eos bos unk mask sep cls stop max min num pagination anti device "
    )
)
# Before "token" these also name the id of a single request or job.
NON_SECRET_UUID_QUALIFIERS = NON_SECRET_QUALIFIERS | frozenset(
    _words(
        "request idempotency trace correlation message event job task run upload lock fencing cancel cancellation design"
    )
)
PASS_QUALIFIERS = tuple(_words("ssh db smtp imap ftp mysql pg redis user root admin mail http proxy "))
# Words of placeholders: a value of these alone is no secret.
PLACEHOLDER_WORDS = frozenset(
    _words(
        "a abc access account add admin all and any api app auth aws bar base baz bearer bin change changed "
        "changeit changeme char characters chars client code credential credentials db default demo deny "
        "dev digits does dummy email empty enter env environ environment example fake false file foo for "
        "from generate generated get github given goes guest hash header here hidden id in insert is it key "
        "keys letters local login long master me minimum minio missing my mysql name new no nil none null "
        "of old one optional os otp paste pass passphrase passwd password passwords placeholder please "
        "postgres private process prod project prompt public put pw pwd qwerty rabbitmq read real redacted "
        "redis refresh removed replace replaced required root sample secret secrets server service set some "
        "something staging string strong super supersecret test testing tests text the this to todo token "
        "tokens true type undefined unset use user username value var variable varchar with x xx xxx y yes "
        "you your yours sha md utf oauth http ipv ec rsa hmac bcrypt scrypt argon pbkdf aes gcm cbc hs rs "
        "es jwt base64 url encoded random field input number length "
    )
)
# Words with numbers that occur in sentences on passwords but are none.
NON_PASSWORD_WORDS = PLACEHOLDER_WORDS | frozenset(
    _words(
        "base hex ascii ansi tls ssl ntlm kerberos ldap step line version column row level option page day days hour "
        "hours minute minutes python node web v k kb mb bit bits byte bytes step figure table section chapter port "
        "blake crypt srp sql db part rfc iso crc lm nt x p round rounds plus min max at least most about"
    )
)
REFERENCE = (
    r"\$\{|\$\(|^\$(?:env:)?[A-Za-z_]\w*$|\{\{|\{[\w. -]*\}|#\{|<[A-Za-z_][^<>]{0,80}>|<%|"
    r"%\([\w.]+\)s|^%[\w]+%$|^%s$|^\[.*\]$|^!\w+$|"
    r"\.\.\.|…|\*{3}|•{3}|x{3,}|X{3,}|_{4}|-{4}|a-z|A-Z|"
    r"^(?:os\.)?environ|getenv|process\.env|import\.meta|^env[.:(\[]|^ENV\[|^secrets?\.|^vars?\.|"
    r"^(?:op|vault|ref|file|https?)[:+]|^arn:|"
    r"^sha(?:1|256|384|512)[-:]|^md5[-:]|^\$(?:2[aby]|5|6|argon2\w*|y)\$|^pbkdf2_|^\{S?SHA|^ssh-(?:rsa|ed25519)"
)
SAMPLES = tuple(
    _words(
        "example sample placeholder changeme change-me change_me change_this your redacted dummy "
        "change-this fake notreal xxxx replace insert_ insert- 0123456789 1234567890 abcdefgh qwertyui "
        "... *** deadbeefdeadbeef sflkxwrjsmekkf2qt4 4ec39hqlyjwdarj 7mdeng "
        "qwxhzgrpbjpvcgvuihnlc2ftzq 1password"  # the example of RFC 7617, and a password manager
    )
)
UUID_OR_ULID = r"(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[0-9A-HJKMNP-TV-Z]{25})"
PATH = (
    r"(?:\.{0,2}|~|[A-Za-z]:)[/\\]|.*\.(?:pem|key|txt|json|ya?ml|toml|crt|cer|pub|p12|pfx|env|ini|cfg|conf|py|js|ts|go|rs|"
    r"rb|php|sh|md|html?|sql|log|xml|csv|lock)$"
)
LOCAL_HOST = (
    r"(?i)(?:localhost|127\.|0\.0\.0\.0|\[?::1|host\.docker|[\w-]+\.example|example\.|"
    r"[\w-]*host(?:name)?$|<|\$|\{)"
)
COMMON_PASSWORDS = frozenset(
    _words("s3cr3t p4ssw0rd passw0rd pa55word p@ssw0rd pa$$word letmein 123456 1234567 12345678 654321 ")
)

# A cheap check after the stem of a name, which rules out prose ("the key idea").
ASSIGNMENT_GATE = (
    r"[\w-]{0,24}\\?[\"'`]?\]?[ \t]{0,24}(?:[=:,(>!%\"'`{]|(?i:is|was)[ \t:]|-p|value|\r?\n[ \t]{1,24}value:)"
)
ASSIGNMENT = (
    r"(?i:(?P<word>pass(?:wor[dt]|wd|phrase|code)?|pwd|(?<![a-zA-Z0-9])pw|secret|token|key|auth)"
    r"(?:[_-]?(?:base|value|prod(?:uction)?|live|staging|dev|default|old|new|primary|secondary|admin|root|text|plain|"
    r"str|env|v?[0-9]{1,3}))?)"
    r"(?:(?P<equals>\\?[\"'`]?\]?[ \t]{0,24}"
    r"(?::[ \t]*[A-Za-z_][\w.\[\]| ]{0,30}=(?=[ \t]*[\"'])|=>|:=|={1,3}|!==?|:|%3[aAdD])[ \t]{0,24}"
    # {"name": "DB_PASSWORD", "value": "…"}, the same in YAML, and a variable's block with a default.
    r"|\\?[\"'`]?[ \t]{0,3}[,:]?[ \t]{0,3}\{?\s{0,24}\\?[\"'`]?(?:value|default)\\?[\"'`]?[ \t]{0,24}[:=][ \t]{0,24})"
    r"|(?P<loose>\\?[\"'`]?[ \t]{0,3}[,(>][ \t]{0,3}|[ \t]{1,8}(?i:(?:is|was)[ \t]*:?[ \t]{1,8}|-p[ \t]?|"
    r"value[ \t]{0,3}=[ \t]{0,3}|(?=[\"']))|[\"'][ \t]+value=))"
    r"(?:[rbfuRBFU@]{0,2}(?P<quote>\\?[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\r\n]){4,512})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&=<>(){}\[\]|\\][^\s\"'`,;&=<>(){}\[\]|\\]{3,511}={0,2}))"
)
_LOWER, _UPPER = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KINDS = tuple(map(frozenset, (_LOWER, _UPPER, "0123456789", "!@#$%^&*?~|+=")))
_DIGITS, _LETTERS = _KINDS[2], frozenset(_LOWER + _UPPER)
REDACTED = "[redacted: "  # begins every replacement


@cache
def compile_rule(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """Compile a pattern on its first use, so that a clean text needs none of them."""
    return re.compile(pattern, re.ASCII)


def is_sample(token: str) -> bool:
    """Return whether a token in a vendor's format is a documented or obviously made-up one."""
    return len(set(token[-20:])) < 6 or _contains_sample(token)


def _contains_sample(value: str) -> bool:
    lowered = value.lower()
    return any(sample in lowered for sample in SAMPLES)


def is_placeholder(value: str, *, uuid: bool = True) -> bool:
    """Return whether a value is a placeholder for a secret: a reference, template, hash, path, or word like "changeme".

    With `uuid` a UUID or ULID counts as a placeholder, too.
    """
    if len(set(value)) < 4 or value.lower() in COMMON_PASSWORDS:
        return True
    if _contains_sample(value) or compile_rule(REFERENCE).search(value):
        return True
    if (uuid and compile_rule(UUID_OR_ULID).fullmatch(value)) or _is_path(value):
        return True
    if value.isalpha() and compile_rule("(?i)passw|secret|token").search(value):
        return True
    return all(_is_filler(chunk) for chunk in chunks(value.lower()))


def _is_filler(chunk: str) -> bool:
    return chunk in PLACEHOLDER_WORDS or (
        chunk.isdigit() and (len(chunk) < 5 or chunk in "12345678901234567890")
    )


def _is_path(value: str) -> bool:
    if compile_rule(PATH).match(value):
        return is_wordy(value, 2.4)
    return "/" in value and is_wordy(value, 3.0)


def chunks(value: str) -> list[str]:
    """Return the runs of one kind (lower-case word, upper-case word, number) that a value is made of."""
    return compile_rule("[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value)


def is_wordy(value: str, least: float) -> bool:
    """Return whether the runs of one kind average at least `least` characters, as in names made of words.

    Random base 62 averages 1.7, random hex 1.9, random lower-case base 36 2.5; identifiers 4 and more.
    """
    found = chunks(value)
    # Long numbers are capped, so that they do not outweigh the words around them.
    return not found or sum(min(len(chunk), 4 if chunk.isdigit() else 99) for chunk in found) >= least * len(
        found
    )


def is_random(value: str) -> bool:
    """Return whether a value reads like a generated token: long, of mixed kinds, not made of words or numbers."""
    distinct = len(set(value))
    if len(value) < 12 or len(value.split()) != 1 or distinct < 7 or distinct < min(len(value) // 4, 10):
        return False
    has_digit = not _DIGITS.isdisjoint(value)
    if _LETTERS.isdisjoint(value) or not (has_digit or _is_mixed_letters(value)):
        return False
    if compile_rule("[0-9a-fA-F]{20,}").fullmatch(value):
        return True
    runs = len(compile_rule("[0-9]+").findall(value)) if value.isalnum() else 0
    scattered = runs >= 3 or (runs == 2 and len(value) >= 15 and not value[-1].isdigit())
    return not is_wordy(value, 4.6 if scattered else 3.2 if has_digit else 2.6)


def _is_mixed_letters(value: str) -> bool:
    return len(value) >= 16 and not value.islower() and not value.isupper()


def kinds(value: str) -> int:
    """Return how many of lower case, upper case, digits and unusual symbols a value contains, 0..4."""
    return sum(not kind.isdisjoint(value) for kind in _KINDS)


def is_password(value: str, *, sure: bool) -> bool:
    """Return whether a value after the name of a password looks like one; `sure` if it is in quotes or an .env line."""
    if len(value) < 6 or len(value.split()) != 1:
        return False
    if not sure:
        return len(value) >= 8 and kinds(value) >= 3
    if value.isalpha():
        return len(value) >= 9 or (kinds(value) >= 2 and not value.istitle())
    return value.isdigit() or kinds(value) >= 2


def is_keyed_secret(value: str, rule: str) -> bool:
    """Return whether a value found by a rule of `KEYED_VALUES` is a secret rather than a placeholder."""
    if rule in ("login-password", "told-password"):
        return kinds(value) >= 3 and is_password_in_prose(value.rstrip(".!?"))
    if rule in ("authorization-token", "personal-access-token", "session-token"):
        return bool(compile_rule(UUID_OR_ULID).fullmatch(value) or is_random(value)) and not is_placeholder(
            value, uuid=False
        )
    if rule.endswith("-password"):
        if is_placeholder(value, uuid=rule != "netrc-password"):  # Heroku's token in a .netrc is a UUID
            return False
        return is_password(value, sure=True) and not value.startswith(("$", "%", "-"))
    return not is_sample(value)


def is_password_in_prose(value: str) -> bool:
    """Return whether a word in a sentence on a password is the password: it has letters and digits."""
    if len(value) < 6 or kinds(value) < 2 or _DIGITS.isdisjoint(value) or _LETTERS.isdisjoint(value):
        return False
    words = {chunk for chunk in chunks(value.lower()) if not chunk.isdigit()}
    if is_placeholder(value) or words <= NON_PASSWORD_WORDS:
        return False
    if compile_rule(r"[0-9]+[a-z%-]+|[0-9]{4}-.*|" + _STANDARD_NAME).fullmatch(value):  # 90days, a date
        return False
    if "." in value and (kinds(value) < 4 or compile_rule(r".*@.*\..*").match(value)):  # a file, a host
        return False
    return "/" not in value and "(" not in value and not value.startswith(("-", "$", "@", "#"))


def is_secret_cell(value: str, heading: str) -> bool:
    """Return whether a table cell below a heading such as "password" or "auth token" is a secret."""
    if not heading.endswith(("key", "token", "secret")):
        return is_password(value, sure=True) and not value.isalpha() and not is_placeholder(value)
    words = chunks(heading)
    return (
        words != ["key"]
        and NON_SECRET_QUALIFIERS.isdisjoint(words)
        and is_random(value)
        and not is_placeholder(value)
    )


def contains_password(hit: re.Match[str], value: str) -> bool:
    """Return whether a match of PROSE contains a password; one directly after its name and a colon is an assignment."""
    if hit["colon"]:
        return hit["between"].strip() != "" and _is_obvious_password(value)
    return is_password_in_prose(value)


def _is_obvious_password(value: str) -> bool:
    """Return whether a value is obviously a password, even without a verb before it."""
    digits = sum(map(value.count, _DIGITS))
    return kinds(value) >= 3 and (digits >= 2 or kinds(value) == 4) and is_password_in_prose(value)


def rule_in_prose(text: str, hit: re.Match[str], value: str) -> str:
    """Return the rule for a match of NAMED_IN_PROSE; "" if its value is no secret."""
    word, between = hit["word"].lower(), hit["between"]
    if word.startswith(("pass", "pwd")):
        return "password-prose" if _is_obvious_password(value) else ""
    before = text[max(0, hit.start() - 40) : hit.start()]
    if (
        not is_random(value)
        or len(value) < 16
        or is_placeholder(value)
        or compile_rule(r"[\w.]*\.[\w.]*|.*/.*").fullmatch(value)
    ):
        return ""
    if compile_rule(_UNRELATED).search(between) or not _rule_of_name(before, word, hit["word"].isupper()):
        return ""
    is_sure = len(value) >= 20 and kinds(value) >= 3  # names and ids have no capitals
    return "secret-prose" if hit["says"] or is_sure else ""


def rule_of_setting(text: str, hit: re.Match[str]) -> str:
    """Return the rule for a match of SETTING, whose name begins a line or follows a `;`; "" if its value is no secret."""
    value, word = hit["value"], hit["word"].lower()
    start = max(text.rfind("\n", 0, hit.start()), text.rfind(";", 0, hit.start())) + 1
    name = compile_rule(r"[ \t<\w.-]*").fullmatch(text, start, hit.start())
    rule = _rule_of_name(name[0][-40:], word, hit["word"].isupper()) if name else ""
    if rule == "password-assignment":
        strong = kinds(value) >= 3 and not _DIGITS.isdisjoint(value)
    else:
        strong = is_random(value) and compile_rule(r"[\w=/+%@-]+").fullmatch(value) is not None
    return rule if strong and not is_placeholder(value) else ""


def rule_of(text: str, hit: re.Match[str]) -> str:
    """Return the rule for a match of ASSIGNMENT; "" if its name or value is not that of a secret."""
    before, word = text[max(0, hit.start() - 40) : hit.start()], hit["word"].lower()
    rule = _rule_of_name(before, word, hit["word"].isupper())
    quoted = hit["quoted"] is not None
    value = hit["quoted"] if quoted else hit["bare"]
    if not rule or not (hit["equals"] or _is_joined(text, hit, before)):
        return ""
    if not quoted and _is_code(text[hit.end() : hit.end() + 1], value):
        return ""
    sure = quoted or _is_setting(text, hit, before)
    if rule == "secret-assignment":
        strong = is_random(value) or (
            word == "secret" and sure and kinds(value) > 2 and is_password(value, sure=True)
        )
    else:
        strong = _is_strong_password(text, hit, value, sure=sure)
    return rule if strong and not is_placeholder(value, uuid=not _may_be_uuid(before, hit["word"])) else ""


def _may_be_uuid(before: str, word: str) -> bool:
    """Return whether the secret with this name may be a UUID, like the API keys of some hosts."""
    owner = before.lower().rstrip(" _-.")
    last = compile_rule("[a-z]{0,40}$").search(owner)
    if word.lower().startswith(("token", "secret")) and not (last and last[0] in NON_SECRET_UUID_QUALIFIERS):
        is_camel_case = word[:1].isupper() and before[-1:].islower()
        if last and last[0] and (is_camel_case or before[-1:] in {"_", "-"}):
            return True
    return owner.endswith(
        ("api", "client", "secret") if word.lower() in ("key", "secret") else ("api", "access", "auth")
    )


def is_secret_option(name: str, value: str) -> bool:
    """Return whether the value of a command-line option with this name is a secret."""
    hit = compile_rule(
        r"(?i)(?P<word>(?:store|key|src|dest)pass|pass(?:word|wd|phrase)|secret|token|key)$"
    ).search(name)
    rule = _rule_of_name(name[: hit.start()], hit["word"].lower(), False) if hit else ""
    strong = is_random(value) if rule == "secret-assignment" else is_password(value, sure=True)
    return bool(rule) and strong and not value.isalpha() and not is_placeholder(value)


def _is_strong_password(text: str, hit: re.Match[str], value: str, *, sure: bool) -> bool:
    if hit["word"].lower() == "passphrase" and hit["quoted"] and value.count(" ") >= 3:
        return True
    is_scrambled = len(value) >= 12 and kinds(value) == 2 and not is_wordy(value, 2.6)
    if value.isalpha() and not is_scrambled and (not sure or "=" not in (hit["equals"] or "")):
        return False
    return is_password(value, sure=sure or _ends_line(text, hit, value))


def _rule_of_name(before: str, word: str, upper: bool) -> str:
    """Return the rule for a name such as "DB_PASSWORD" or "api key"; "" if it is not that of a secret."""
    owner = before.lower().rstrip(" _-.")
    last = compile_rule("[a-z]{0,40}$").search(owner, max(0, len(owner) - 16))
    if "]" not in before.rpartition(REDACTED)[2] and REDACTED in before:  # the name of a rule
        return ""
    if (last and last[0] in NON_SECRET_QUALIFIERS) or compile_rule(r"[0-9]{12}:$").search(before):  # an ARN
        return ""
    if word == "key":
        known = owner.endswith(KEY_QUALIFIERS) or (upper and before.endswith("_"))
        return "secret-assignment" if known else ""
    if word in {"pass", "auth"} and before[-1:].isalnum() and not owner.endswith(PASS_QUALIFIERS):
        return ""
    return "password-assignment" if word.startswith(("pass", "pw")) else "secret-assignment"


def _is_setting(text: str, hit: re.Match[str], before: str) -> bool:
    """Return whether an unquoted value is in an .env line, after a command-line option or in an XML element."""
    if hit["loose"]:
        return hit["loose"].strip() == "-p" or text[hit.end() : hit.end() + 1] == "<"
    return hit["equals"] == "=" and (hit["word"].isupper() or before.endswith("--"))


def _ends_line(text: str, hit: re.Match[str], value: str) -> bool:
    """Return whether an unquoted value is all that follows its name, as in YAML and INI files."""
    rest = compile_rule(r"[,;)}\]]?[ \t]{0,8}(?:#[^\n]*)?(?:\r?\n|\Z|\\n)|[;&]|[ \t]+[a-z_]+=").match(
        text, hit.end()
    )
    return rest is not None and not (is_wordy(value, 3.5) and kinds(value) < 3)


def _is_joined(text: str, hit: re.Match[str], before: str) -> bool:
    """Return whether a name and value without "=" or ":" between them belong together."""
    separator, quoted = hit["loose"].strip(" \t\\\"'`").lower(), hit["quoted"] is not None
    if separator == ">":
        return text[hit.end() : hit.end() + 1] == "<"
    if separator == "-p":
        return before.lower().endswith("ssh")
    if separator.startswith(("is", "was")):
        return True
    return quoted and (bool(separator) or hit["word"].isupper())  # SQL: IDENTIFIED … PASSWORD '…'


def _is_code(following: str, value: str) -> bool:
    """Return whether an unquoted value is a call, an index or a dotted name rather than text."""
    if following not in {"(", "["} and "." not in value:
        return False
    name = compile_rule(r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*").fullmatch(value)
    return name is not None and (following in {"(", "["} or is_wordy(value, 2.6))
