"""The labelled set: made-up look-alikes that must be found, and texts that only resemble them.

Every token is put together at run time, so that no line of this file looks like one to a git host's scanner.
"""

from __future__ import annotations

import random
import string
from base64 import b64encode, urlsafe_b64encode

import pytest

from engram.domain.admission.secrets import find_secrets, redact

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
_random = random.Random(20240817)


def made(length: int, alphabet: str = ALNUM) -> str:
    """A random run that is not broken by a rare repeat and ends in a letter or digit."""
    while True:
        token = "".join(_random.choice(alphabet) for _ in range(length))
        if token[-1] not in "_-/+" and token[0] not in "_-/+" and any(c.isdigit() for c in token):
            return token


def jwt() -> str:
    head = urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = urlsafe_b64encode(b'{"sub":"84213","role":"admin","iat":1716239022}').decode().rstrip("=")
    return f"{head}.{body}.{made(43, WORD)}"


def key_block(kind: str, lines: int = 12) -> str:
    body = "\n".join(made(64, ALNUM + "+/") for _ in range(lines))
    return "\n".join(["-----BEGIN " + kind + "-----", body, "-----END " + kind + "-----"])


def basic() -> str:
    return b64encode(("deploy:" + made(14)).encode()).decode()


# kind, text before, the secret, text after
POSITIVES: list[tuple[str, str, str, str]] = [
    ("aws id", "aws_access_key_id = ", "AK" + "IA" + made(16, BASE32), "\n"),
    ("aws temporary id", "export AWS_ACCESS_KEY_ID=", "AS" + "IA" + made(16, BASE32), "\n"),
    ("aws secret", "aws_secret_access_key = ", made(40, ALNUM + "/+"), "\n"),
    ("aws secret json", '"SecretAccessKey": "', made(40, ALNUM + "/+"), '",'),
    ("gcp api key", "The Maps key is ", "AI" + "za" + made(35, WORD), "."),
    (
        "gcp service account",
        '{"type": "service_account", "private_key": "',
        key_block("PRIVATE" + " KEY").replace("\n", "\\n"),
        '\\n", "client_email": "x"}',
    ),
    ("google oauth", "curl -H 'Authorization: Bearer ", "ya" + "29." + made(80, WORD), "'"),
    ("google client secret", '"client_secret":"', "GOC" + "SPX-" + made(28, WORD), '"'),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=lore;AccountKey=",
        made(86, ALNUM + "+/") + "==",
        ";EndpointSuffix=core.windows.net",
    ),
    (
        "azure sas",
        "https://lore.blob.core.windows.net/c?sv=2022-11-02&se=2030-01-01&sig=",
        made(43) + "%3D",
        "&sp=r",
    ),
    ("azure client secret", "AZURE_CLIENT_SECRET=", made(3) + "8Q" + "~" + made(34, WORD), "\n"),
    ("github classic", "git clone with ", "gh" + "p_" + made(36), " works"),
    ("github oauth", "token: ", "gh" + "o_" + made(36), "\n"),
    ("github server", "x-access-token:", "gh" + "s_" + made(36), "@github.com"),
    ("github fine-grained", "GH_TOKEN=", "github" + "_pat_" + made(22) + "_" + made(59), "\n"),
    ("gitlab", "PRIVATE-TOKEN: ", "gl" + "pat-" + made(20, WORD), "\n"),
    ("gitlab runner", "registration ", "gl" + "rt-" + made(20, WORD), " for the runner"),
    (
        "slack bot",
        "SLACK=",
        "xo" + "xb-" + made(12, "123456789") + "-" + made(12, "123456789") + "-" + made(24),
        "\n",
    ),
    (
        "slack user",
        "use ",
        "xo" + "xp-" + made(12, "123456789") + "-" + made(12, "123456789") + "-" + made(32, HEX),
        " here",
    ),
    (
        "slack webhook",
        "POST https://",
        "hooks.slack" + ".com/services/T" + made(8, UPPER) + "/B" + made(8, UPPER) + "/" + made(24),
        " with curl",
    ),
    ("stripe live", "Stripe.api_key = '", "sk" + "_live_" + made(24), "'"),
    ("stripe restricted", "stripe: ", "rk" + "_live_" + made(24), "\n"),
    ("openai legacy", "OPENAI_API_KEY=", "sk" + "-" + made(20) + "T3Blbk" + "FJ" + made(20), "\n"),
    (
        "openai project",
        'client = OpenAI(api_key="',
        "sk" + "-proj-" + made(74, WORD) + "T3Blbk" + "FJ" + made(74, WORD),
        '")',
    ),
    ("anthropic", "ANTHROPIC_API_KEY=", "sk" + "-ant-api03-" + made(93, WORD) + "AA", "\n"),
    ("npm", "//registry.npm" + "js.org/:_authToken=", "np" + "m_" + made(36), "\n"),
    ("pypi", "twine upload -u __token__ -p ", "py" + "pi-AgEIcHlwaS5vcmc" + made(120, WORD), "\n"),
    ("hugging face", "login(token='", "h" + "f_" + made(34, string.ascii_letters + "7"), "')"),
    ("sendgrid", "mail: ", "S" + "G." + made(22, WORD) + "." + made(43, WORD), "\n"),
    ("twilio", "Twilio key ", "S" + "K" + made(32, HEX), " was rotated"),
    ("twilio auth token", "TWILIO_AUTH_TOKEN=", made(32, HEX), "\n"),
    (
        "telegram",
        "https://api.telegram.org/bot",
        made(10, "123456789") + ":A" + "A" + made(33, WORD),
        "/getMe",
    ),
    ("discord bot", "client.run('", "M" + "T" + made(24) + "." + made(6, WORD) + "." + made(38, WORD), "')"),
    (
        "discord webhook",
        "https://discord.com",
        "/api/web" + "hooks/" + made(18, "123456789") + "/" + made(68, WORD),
        " posts",
    ),
    ("digitalocean", "doctl auth init -t ", "do" + "p_v1_" + made(64, HEX), "\n"),
    ("databricks", "host and ", "da" + "pi" + made(32, HEX), " in ~/.databrickscfg"),
    ("shopify", "X-Shopify-Access-Token: ", "shp" + "at_" + made(32, HEX), "\n"),
    ("linear", "LINEAR=", "lin" + "_api_" + made(40), "\n"),
    ("notion", "NOTION_TOKEN=", "nt" + "n_" + made(46), "\n"),
    ("notion old", "Notion: ", "sec" + "ret_" + made(43), "\n"),
    ("mailgun", "curl --user 'api:", "ke" + "y-" + made(32, HEX), "'"),
    ("mailchimp", "Mailchimp uses ", made(32, HEX) + "-u" + "s14", " for us"),
    ("square", "square: ", "sq" + "0atp-" + made(22, WORD), "\n"),
    ("square secret", "square app: ", "sq" + "0csp-" + made(43, WORD), "\n"),
    ("doppler", "doppler run --token ", "dp" + ".st.dev." + made(43), "\n"),
    ("vault", "VAULT_TOKEN=", "hv" + "s." + made(90, WORD), "\n"),
    (
        "terraform cloud",
        'credentials "app.terraform.io" { token = "',
        made(14) + ".atlas" + "v1." + made(67),
        '" }',
    ),
    ("grafana service account", "Grafana: ", "gl" + "sa_" + made(32) + "_" + made(8, HEX), "\n"),
    ("grafana cloud", "GRAFANA: ", "gl" + "c_" + b64encode(made(60).encode()).decode(), "\n"),
    ("sentry", "SENTRY_AUTH_TOKEN=", "sntr" + "yu_" + made(64, HEX), "\n"),
    ("artifactory", "artifactory key ", "AKC" + "p" + made(69), " expires"),
    ("private key", "deploy key:\n", key_block("RSA PRIVATE" + " KEY"), "\nend"),
    ("openssh key", "", key_block("OPENSSH PRIVATE" + " KEY"), "\n"),
    ("pgp key", "", key_block("PGP PRIVATE" + " KEY BLOCK"), "\n"),
    ("ec key", "old: ", key_block("EC PRIVATE" + " KEY", 3), "\n"),
    ("jwt", "the session was ", jwt(), " until noon"),
    ("postgres url", "DATABASE_URL=postgres://app:", made(16), "@db.internal.net:5432/app\n"),
    ("mongo url", "mongodb+srv://root:", "Gr" + "een9Lake", "@cluster0.abcde.mongodb.net/x"),
    ("redis url", "redis://:", made(20), "@cache.prod.net:6379/0"),
    ("amqp url", "amqp://svc:", "n0t-s0-" + "easy", "@mq.prod.net/vhost"),
    ("bearer header", "curl -H 'Authorization: Bearer ", made(40), "' https://api.test.net"),
    ("basic header", "Authorization: Basic ", basic(), "\n"),
    ("password python", 'password = "', "Tr0ub4" + "dor&3", '"'),
    ("password json", '{"user": "ann", "password": "', "vK9" + "pQ2xw", '"}'),
    ("password yaml", "  db_password: ", "mX7" + "tRq19z", "\n"),
    ("password env", "DB_PASSWORD=", "wint" + "er" + "2031blue", "\n"),
    ("password letters", 'db_password = "', "sword" + "fishes", '"'),
    ("password option", "mysqladmin --password=", "Qx7" + "!mmLp2", " ping"),
    ("password prose", "the staging password is `", "Pl9" + "zz!Kd", "` for now"),
    ("pass env", "SMTP_PASS=", "a8Kd" + "92mQx", "\n"),
    ("pwd connection string", "Server=tcp:x.net;Uid=sa;Pwd=", "Zt5" + "$kk20Lm", ";Encrypt=yes"),
    ("api key yaml", "api_key: ", made(32, HEX), "\n"),
    ("api key header", "X-Api-Key: ", made(40), "\n"),
    ("api key prose", "Datadog API key: ", made(32, HEX), "\n"),
    ("client secret", "client_secret='", made(32), "'"),
    ("secret key django", "SECRET_KEY = '", made(50, ALNUM + "!@#$%^&*"), "'"),
    ("env token", "FOO_TOKEN=", made(24), "\n"),
    ("camel case", 'const accessToken = "', made(36), '";'),
    ("query parameter", "https://api.test.net/v1?api_key=", made(24), "&page=2"),
    ("xml", "<password>", "kX83" + "mmQz", "</password>"),
    ("curl user", "curl -u deploy:", "h7Xq" + "92Lp", " https://ci.test.net"),
    ("docker auth", '{"auths": {"r.test.net": {"auth": "', basic(), '"}}}'),
]

NEGATIVES: list[str] = [
    "the password is stored in the keychain",
    "token: the user's token",
    "The token is refreshed every 60 minutes by the proxy.",
    "A secret is read from the vault at start-up; see docs/secrets.md",
    'password = "changeme"',
    'password = "your-password-here"',
    "password: <password>",
    "api_key: YOUR_API_KEY",
    'api_key = "xxxxxxxxxxxxxxxxxxxxxxxx"',
    "api_key = 'your-api-key-goes-here-1'",
    "export GITHUB_TOKEN=<token>",
    "export GITHUB_TOKEN=$GITHUB_PAT",
    "TOKEN=${TOKEN:-none}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: {{ vault_db_password }}",
    'SECRET_KEY = os.environ["SECRET_KEY"]',
    "secret = os.getenv('APP_SECRET_V2')",
    "const apiKey = process.env.OPENAI_API_KEY2",
    "token = get_token(user_id, ttl=3600)",
    "password = getpass.getpass('Password: ')",
    "token = self.session.token_v2",
    "api_key = settings.api_keys['primary1']",
    "aws_access_key_id = " + "AKIA" + "IOSFODNN7EXAMPLE",
    "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    "ghp_" + "x" * 36,
    "sk-" + "ant-api03-" + "your-key-here-0000000000",
    "OPENAI_API_KEY=sk-" + "..." ,
    "postgres://user:password@localhost/db",
    "postgres://postgres:postgres@db:5432/app",
    "mysql://root:secret@127.0.0.1/test",
    "postgres://$USER:$PASSWORD@host/db",
    "https://user:<password>@example.com",
    "redis://:***@cache:6379",
    "https://docs.test.net:8080/path@v2",
    "git@github.com:owner/repo.git and ssh://git@host.net:22/x",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Basic " + b64encode(b"user:password").decode(),
    "Basic authentication is turned off; bearer authentication-by-proxy-only is on",
    "commit 8d908b6c1f0a2e4d5b7c9a3f1e2d4c6b8a0f1e3d fixed it",
    "Fixed in 3f2a9c1e8b7d6a5f4e3c2b1a0f9e8d7c6b5a4f3e, see the log",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "token_id = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'",
    "secret: f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "lore 01HZX3K9V7Q2M4N8P6R5S1T0WB supersedes 01HZX3K9V7Q2M4N8P6R5S1T0WC",
    "token: 01HZX3K9V7Q2M4N8P6R5S1T0WB",
    "key_file: /etc/ssl/private/server-2024.pem",
    "private_key = ~/.ssh/id_ed25519_work2",
    "secret = /run/secrets/db_password_2",
    '"integrity": "sha512-' + b64encode(bytes(range(7, 71))).decode() + '"',
    "sha256:" + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "requests==2.31.0 --hash=sha256:" + "58cd2187c01e70e6e26505bca751777aa9f2ee0b7f4300988b709f44e013003f",
    "max_tokens: 4096, stop_token: '<|endoftext|>'",
    "next_page_token = 'CAUQAAabc123def456ghi789'",
    "primary_key: user_account_id_v2",
    "cache_key = 'user:1234:profile:v7abc9d8e7f'",
    "public_key = '" + "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE" + "'",
    "password_hash = '$2b$12$" + "KIXQ4S6r1uZ9q8w7e6r5t4y3u2i1o0p9a8s7d6f5g4h3j2k1l0" + "'",
    'type="password" name="password" placeholder="Password"',
    "passwordless login, token-based auth, key-value stores",
    "The keyboard: a Keychron_K2_v2_2024",
    "def reset_password(user: User, password: str = DEFAULT) -> None:",
    "if token != expected_token_v2: raise PermissionError",
    "`-----BEGIN RSA PRIVATE" + " KEY-----` starts a PEM file",
    "-----BEGIN PRIVATE" + " KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC" + " KEY-----\n" + "A" * 20 + "kq3J9x\n-----END PUBLIC KEY-----",
    "eyJhbGciOiJIUzI1NiJ9 is the header of every HS256 token",
    "secretKeyRef:\n  name: db-credentials-v2\n  key: password",
    "secret_name = 'prod/db/credentials-2024'",
    "kubectl create secret generic db-user-pass-9c5b --from-file=./username.txt",
    "token_url: https://login.test.net/oauth2/v2.0/token",
    "password policy: 12characters minimum",
    "hf_model_name_with_long_words_in_it and npm_config_registry_url_for_tests",
    "import sk-learn-contrib-extended-package-name",
    "https://github.com/simonw/til/blob/8d908b6/aws/s3-cors-configuration-for-buckets.md",
    "password: ${DB_PASSWORD}",
    "DB_PASSWORD=\nDB_USER=app2024abc",
    "password=password123",
    "auth: oauth2",
    "The api key: rotate it every 90 days",
    "data:image/png;base64," + b64encode(bytes((i * 37 + 11) % 256 for i in range(300))).decode(),
    "SECRET_KEY=django-insecure-placeholder",
    "credentials: include, same-origin2",
    "keywords = ('prop', 'pwd', 'quickcheck', 'pass', 'pixelfragment')",
    'publicKeyToken="1fc8b3b9a1e18e3b"',
    "git://[path-to-repo[:]][ref@]path and smb://myuser:mypassword@server/share",
    """cases = [("client_secret=\'", make(32), "\'"), ("api_key", "")]""",
    'TOKEN = "[a-zA-Z_][a-zA-Z0-9_-]*"',
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "before", "secret", "after"), POSITIVES, ids=[case[0] for case in POSITIVES]
)
def test_a_secret_is_found_whole_and_redacting_it_leaves_the_rest(kind, before, secret, after):
    text = before + secret + after
    findings = find_secrets(text)
    assert findings, f"missed {kind}"
    redacted = redact(text, findings)
    # The finding may take in a neighbour (a whole header value), never leave a part of the secret behind.
    assert findings[0].start <= len(before)
    assert findings[-1].end >= len(before) + len(secret)
    assert secret not in redacted
    assert redacted.startswith(before[: findings[0].start])
    assert redacted.endswith(text[findings[-1].end :])
    assert find_secrets(redacted) == ()


@pytest.mark.parametrize("text", NEGATIVES)
def test_a_text_that_only_resembles_a_secret_is_ignored(text):
    assert find_secrets(text) == ()


def test_the_set_is_large_enough_to_mean_something():
    assert len(POSITIVES) >= 60
    assert len({case[0] for case in POSITIVES}) == len(POSITIVES)
    assert len(set(NEGATIVES)) >= 60
