"""Secrets recognized by the words around them, and harmless values in the same places; each is made at run time."""

from __future__ import annotations

import random
import re
import string
from base64 import b64encode

import pytest

from engram.domain.admission.secret_rules import compile_rule
from engram.domain.admission.secret_words import KEYED_VALUES, KeyedValue
from engram.domain.admission.secrets import find_secrets
from tests.admission import secret_shapes

HEX, LOWER, ALNUM = (
    "0123456789abcdef",
    string.ascii_lowercase + string.digits,
    string.ascii_letters + string.digits,
)
_random = random.Random(23)


def made(length: int, alphabet: str = ALNUM) -> str:
    return "".join(_random.choice(alphabet) for _ in range(length))


def uuid() -> str:
    return "-".join(made(count, HEX) for count in (8, 4, 4, 4, 12))


AWS = made(38, ALNUM + "/+") + "x7"
KEY_LINES = "\n".join(made(64, ALNUM + "+/") for _ in range(4))
PRIVATE = b64encode(f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n".encode()).decode()

# what stands before, the secret, what stands after
FOUND = [
    ("Azure DevOps: az devops login with ", made(52, string.ascii_lowercase + "234567"), " as the PAT"),
    ("AZURE_DEVOPS_EXT_PAT=", made(52, string.ascii_lowercase + "234567"), "\n"),
    ("the new pat is ", made(76) + "AZ" + "DO" + made(4), "."),
    ("machine git.example.org login deploy password ", "hT7kd92Lqx", "\n"),
    ("machine git.example.org\n  login deploy\n  password ", "hT7kd92Lqx", "\n"),
    ("users:\n- name: admin\n  user:\n    client-key-data: ", PRIVATE, "\n"),
    ("data:\n  tls.key: ", PRIVATE, "\n"),
    ("Twilio account AC" + made(32, HEX) + " with the auth token ", made(32, HEX), "."),
    ("from twilio.rest import Client\nClient(sid, '", "S" + "K" + made(32, HEX), "')"),
    ("Pinecone: ", "pc" + "sk_" + made(6) + "_" + made(63), "\n"),
    ("pinecone.init(api_key='", uuid(), "', environment='us-east1')"),
    ("LANGFUSE_SECRET_KEY=", "sk-" + "lf-" + uuid(), "\n"),
    ("Buildkite API: ", "bk" + "ua_" + made(40, HEX), " for the bot"),
    ("buildkite-agent start --token ", made(48), " --tags linux"),
    ("CircleCI: ", "CCI" + "PAT_" + made(22) + "_" + made(40, HEX), "\n"),
    ("curl -H 'Circle-Token: ", made(40, HEX), "' https://circleci.com/api/v2/me"),
    ("Neon: ", "na" + "pi_" + made(64, LOWER), "\n"),
    ("psql postgresql://ada:", "np" + "g_" + made(12), "@ep-cool-lake-1234.eu-central-1.aws.neon.tech/lore"),
    ("git clone https://", made(40), "@git.example.org/team/lore.git"),
    ('The passphrase of the backup is "', "quartz lantern pigeon ocean", '".'),
    ("Tavily: ", "tv" + "ly-" + made(32), " in staging"),
    ("Tavily: ", "tv" + "ly-dev-" + made(32), " in staging"),
    ("ElevenLabs: ", "s" + "k_" + made(48, HEX), "\n"),
    ("headers = {'xi-api-key': '", made(32, HEX), "'}"),
    (
        "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 4\n",
        KEY_LINES,
        "\nPrivate-MAC: 00\n",
    ),
    ("mysql -h db.example.org -u root -p", "hT7kd92L", " lore < dump.sql"),
    ("mysqldump --user=root --password=", "hT7kd92L", " lore"),
    ("docker login -u ada -p ", "hT7kd92Lqx", " registry.example.org"),
    ("redis-cli -h cache -a ", "hT7kd92Lqx", " ping"),
    ("The password is ", "hunter42", "."),
    ("The password for the staging database is ", "Tr0ub4dor&3", ", ask Ada."),
    ("The admin password was changed to ", "Sommer2026!", " on Monday."),
    ("Passphrase of the backup is now ", "kx92-Lqhw-77ab", ""),
    (f"{AWS} belongs to AK" + "IA" + made(16, string.ascii_uppercase + "234567") + ": ", "", ""),
    ("AK" + "IA" + made(16, string.ascii_uppercase + "234567") + " / ", AWS, ""),
    ("HEROKU_API_KEY=", uuid(), "\n"),
    ("deploy_token: ", uuid(), "\n"),
    ('{"refresh_token": "', uuid(), '"}'),
    ("webhook-secret = '", uuid(), "'"),
    ("The api key is '", uuid(), "'"),
    ("config.authToken = '", uuid(), "'"),
    ("vault login ", "s" + "." + made(20) + "aB3x", "\n"),
]

CLEAN = [
    "The password is required. Passwords are case-sensitive, and a password is 12 characters long at least.",
    "The password is stored as sha256, was hashed with bcrypt12 before, and is compared in step3 to base64.",
    "The password was changed on 2026-11-03 and is valid for 90days.",
    "The password is read from $DB_PASSWORD, <password> or /run/secrets/db.",
    "Azure DevOps pipelines run on " + "abcdefgh" * 7 + ".",
    "machine learning needs a login; the password is optional",
    "client-certificate-data: " + b64encode(b"-----BEGIN CERTIFICATE-----\nMIIC\n").decode(),
    "Twilio's account AC" + made(32, HEX) + " is public.",
    "LANGFUSE_PUBLIC_KEY=pk-lf-" + uuid(),
    "mysql -u root -p lore",
    "mysql -u root -p$MYSQL_PASSWORD lore",
    "mkdir -p build && mysql --version",
    "docker login -u ada --password-stdin registry.example.org",
    "docker run -p 8080:80 mongo",
    "redis-cli -h cache9.example.org ping",
    "With the secret set it is a class-b resource9 that nobody reads.",
    "Buildkite is faster than CircleCI at commit " + made(12, HEX) + ".",
    "request_id: " + uuid(),
    "idempotency_token: " + uuid(),
    "next_page_token: " + uuid(),
    "s.assertEqualWithinTolerance and vars.somethingOfTwentyFour",
    "Private-Lines: 14 is what a PuTTY file says before its lines.",
    "AKIA stands before the ids of AWS.",
    "python manage.py add_user ada ht7kd92lqx",
]


@pytest.mark.parametrize(("before", "secret", "after"), FOUND)
def test_a_secret_is_found_by_the_words_around_it(before: str, secret: str, after: str) -> None:
    text = before + secret + after
    found = [text[one.start : one.end] for one in find_secrets(text)]
    assert any((secret or AWS).strip() in one for one in found), (text, found)


@pytest.mark.parametrize("text", CLEAN)
def test_a_harmless_value_in_such_a_place_is_ignored(text: str) -> None:
    assert find_secrets(text) == ()


SAID = [f"{before}{secret}{after}" for before, secret, after in FOUND] + [
    secret_shapes.filled(one, random.Random(one))[0] for one in secret_shapes.templates(secret_shapes.FOUND)
]


# But for one whose command may stand well before its words.
NEEDY = [rule for rule in KEYED_VALUES if rule.needs and rule.needs != b"rabbitmqctl "]


@pytest.mark.parametrize("rule", NEEDY, ids=lambda rule: rule.words[0])
def test_every_match_of_a_rule_contains_the_bytes_that_the_rule_needs(rule: KeyedValue) -> None:
    known = [hit[0] for text in SAID for at in range(len(text)) if (hit := _match(rule, text[at:]))]
    assert known
    for said in known:
        for at in range(len(said)):
            for other in ("", " ", "\t", "x", "7", "-", "="):
                hit = _match(rule, said[:at] + other + said[at + 1 :])
                assert hit is None or rule.needs in hit[0].encode("ascii", "replace").lower()


def _match(rule: KeyedValue, text: str) -> re.Match[str] | None:
    """Match a rule where one of its words begins the text."""
    begins = text.lower().startswith(tuple(word.decode() for word in rule.words))
    return compile_rule(rule.pattern).match(text) if begins else None
