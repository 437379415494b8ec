"""Evaluate the secret scanner with another scanner's rules, and count false alarms on real text.

Usage: python tools/judge_secret_rules.py RULES.toml [--notes FOLDER] [--code FOLDER …] [--each 3]
RULES.toml is a rule file in the format of gitleaks (its `config/gitleaks.toml`, MIT licence). For each rule, secrets that
match its regular expression are generated and put into typical lines; public ids are left out. Prints which rules are missed,
and each alarm in the notes (*.md) and in the code (*.py, *.js, *.toml, *.yml …).
"""

from __future__ import annotations

import argparse
import random
import re
import string
import tomllib
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from engram.domain.admission.secrets import find_secrets

PRINTABLE = string.ascii_letters + string.digits + "_-./+=:@ "
PUBLIC = (
    "client-id",
    "access-id",
    "pub-key",
    "pub-api-key",
    "public-key",
    "plaid-client-id",
    "mapbox-api-token",
)
# Rules that do not match a single token, for which no sample can be generated.
NOT_GENERATED = (
    "curl-auth-header",
    "curl-auth-user",
    "kubernetes-secret-yaml",
    "pkcs12-file",
    "generic-api-key",
    "jwt-base64",
    "hashicorp-tf-password",
    "nuget-config-password",
    "private-key",
)
LOOSE = r"[\w.-]{0,50}?"  # the beginning of a rule that needs a name before the value
CODE = ("*.py", "*.js", "*.ts", "*.toml", "*.yml", "*.yaml", "*.json", "*.sh", "*.c", "*.h", "*.cfg", "*.txt")
MAX_BYTES = 1024 * 1024


class SampleGenerator:
    """Generates texts that match a regular expression."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._groups: dict[int, str] = {}

    def text(self, pattern: str) -> str:
        """Return a text that matches the pattern; lookarounds and anchors produce nothing."""
        self._groups = {}
        return self._generate(_parser.parse(_for_python(pattern)))

    def _generate(self, parts: Any) -> str:
        return "".join(self._generate_part(op, value) for op, value in parts)

    def _generate_part(self, op: Any, value: Any) -> str:
        name = str(op)
        if name == "LITERAL":
            return chr(value)
        if name == "NOT_LITERAL":
            return self._random.choice([one for one in PRINTABLE if ord(one) != value])
        if name == "IN":
            return self._random.choice(self._characters_of(value))
        if name == "ANY":  # nearly always an unescaped dot
            return "."
        if name == "BRANCH":
            return self._generate(self._random.choice(value[1]))
        if name == "SUBPATTERN":
            found = self._generate(value[3])
            self._groups[value[0]] = found
            return found
        if name == "GROUPREF":
            return self._groups[value]
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, repeated = value
            most = min(int(most), max(least + 20, int(least * 1.3)))
            return "".join(self._generate(repeated) for _ in range(self._random.randint(least, most)))
        return ""

    def _characters_of(self, parts: Any) -> list[str]:
        characters: set[str] = set()
        negated = str(parts[0][0]) == "NEGATE"
        for op, value in parts:
            name = str(op)
            if name == "LITERAL":
                characters.add(chr(value))
            elif name == "RANGE":
                characters.update(map(chr, range(value[0], value[1] + 1)))
            elif name == "CATEGORY":
                characters.update(_category(value))
        return sorted(set(PRINTABLE) - characters if negated else characters)


def _category(value: Any) -> str:
    found = {
        _constants.CATEGORY_DIGIT: string.digits,
        _constants.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
        _constants.CATEGORY_SPACE: " ",
        _constants.CATEGORY_NOT_SPACE: string.ascii_letters + string.digits,
    }
    return found[value]


def _for_python(pattern: str) -> str:
    """Convert a pattern from RE2 to Python: drop inline flags, and spell out classes."""
    pattern = pattern.replace("[:alnum:]", "a-zA-Z0-9").replace(r"\z", r"\Z")
    pattern = re.sub(r"\(\?i:\[a-z\]", "(?:[a-zA-Z]", pattern)
    return re.sub(r"\(\?i\)", "", re.sub(r"\(\?-?i:", "(?:", pattern))


def _secret_part(pattern: str) -> tuple[str, str]:
    """Return the word required before the value ("" if none), and the pattern of the value."""
    if not pattern.startswith(("(?i)" + LOOSE, LOOSE)):
        return "", re.sub(r"\(\?:\[\\x60.*$|\(\?:\[\^?\\w.*$|\(\?:\$\|.*$", "", pattern)
    inner = re.search(r"\[\\x60'\"\\s=\]\{0,5\}(\(.*\))\(\?:\[\\x60", pattern)
    words = re.search(r"\(\?:(?!\[)(.*?)\)\(\?:\[", pattern)
    assert inner is not None, pattern
    assert words is not None, pattern
    word = re.search(r"[A-Za-z_]{3,}", re.sub(r"\[(.).\]|\(\?(?:-?i)?:|\[.*?\]\?", r"\1", words[1]))
    assert word is not None, pattern
    return word[0], inner[1]


def samples(rules: list[dict[str, Any]], each: int) -> list[tuple[str, str, str]]:
    """Generate `each` samples of each rule, as (rule, secret, text with the secret)."""
    generator, found = SampleGenerator(20261123), []
    for rule in rules:
        name = rule["id"]
        if name.endswith(PUBLIC) or name in NOT_GENERATED or "regex" not in rule:
            continue
        word, pattern = _secret_part(rule["regex"])
        kind = next(
            (one for one in ("secret", "password", "key", "webhook", "token") if one in name), "token"
        )
        kind = {"secret": "client_secret", "key": "api_key"}.get(kind, kind)
        vendor = word or name.split("-")[0]
        lines = [
            f"{vendor.upper()}_{kind.upper()}=%s\n",
            f'{vendor}_{kind} = "%s"\n',
            f'{{"{vendor}{kind.title().replace("_", "")}": "%s"}}',
            f"The {vendor} job uses %s since May.\n",
        ]
        for number in range(each):
            secret = generator.text(pattern).strip(" ,")
            line = lines[number % (3 if word else 4)] if not re.search(r"[\s\"']", secret) else "%s\n"
            found.append((name, secret, line % secret))
    return found


def alarms(folder: Path, patterns: tuple[str, ...]) -> tuple[int, int, list[str]]:
    """Return the number of files read, the number of them with alarms, and each alarm."""
    read, with_alarms, alarm_lines = 0, 0, []
    for path in sorted({path for pattern in patterns for path in folder.rglob(pattern)}):
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found = find_secrets(text)
        read += 1
        with_alarms += bool(found)
        lines = text.split("\n")
        alarm_lines += [f"{path}:{one.line}: {one.rule} {lines[one.line - 1].strip()[:110]}" for one in found]
    return read, with_alarms, alarm_lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rules", type=Path)
    parser.add_argument("--notes", type=Path)
    parser.add_argument("--code", type=Path, nargs="*", default=[])
    parser.add_argument("--each", type=int, default=3)
    arguments = parser.parse_args()
    generated = samples(tomllib.loads(arguments.rules.read_text(encoding="utf-8"))["rules"], arguments.each)
    missed: dict[str, list[str]] = {}
    for name, secret, text in generated:
        spans = [(one.start, one.end) for one in find_secrets(text)]
        at = text.find(secret)
        if not any(start < at + len(secret) and end > at for start, end in spans):
            missed.setdefault(name, []).append(text.strip())
    count = sum(map(len, missed.values()))
    rules = len({name for name, _, _ in generated})
    total = len(generated)
    print(
        f"found {total - count} of {total} ({1 - count / total:.1%}), of {rules} rules {rules - len(missed)} always"
    )
    for name, texts in missed.items():
        print(f"  missed {name} ×{len(texts)}: {texts[0][:150]}")
    for folder, patterns in [(arguments.notes, ("*.md",)), *((one, CODE) for one in arguments.code)]:
        if folder is None:
            continue
        read, with_alarms, alarm_lines = alarms(folder, patterns)
        print(
            f"{folder}: {len(alarm_lines)} alarms in {with_alarms} of {read} files ({with_alarms / max(1, read):.2%})"
        )
        for line in alarm_lines:
            print(f"  {line}")


if __name__ == "__main__":
    main()
