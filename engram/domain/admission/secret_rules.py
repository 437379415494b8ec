"""What counts as a secret: the token shapes of vendors, and what tells a password from a placeholder.

The shapes are facts from the vendors' own documentation. Every pattern is linear: it starts at a word start
and its runs use the same characters as that guard, so no character is read more than a few times.
"""

from __future__ import annotations

import re
from functools import cache

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import AnyStr

# A word start; the characters after a literal "\n" (escaped text in JSON or logs) count as one too.
ALNUM_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
WORD_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
ALNUM_END = r"(?![A-Za-z0-9])"


class Rule(NamedTuple):
    """A vendor's token: `needle` must occur, then `pattern` is tried `back` characters before it.

    A group named `value` marks the secret where it is not the whole match.
    """

    name: str
    needle: str
    pattern: str
    back: tuple[int, ...] = (0,)


def _alnum(name: str, needle: str, rest: str) -> Rule:
    return Rule(name, needle, ALNUM_START + re.escape(needle) + rest + ALNUM_END)


def _word(name: str, needle: str, rest: str) -> Rule:
    return Rule(name, needle, WORD_START + re.escape(needle) + rest)


def _words(line: str) -> list[str]:
    return line.split()


_DISCORD = r"[A-Za-z0-9]{22,26}\.[\w-]{6}\.[\w-]{27,40}"
_WEBHOOK = r"(?:T[A-Z0-9]{6,}/B[A-Z0-9]{6,}|T[A-Z0-9]{6,}/[A-Z0-9]{6,})/[A-Za-z0-9]{20,}|[A-Za-z0-9+/]{43,56}"

RULES: tuple[Rule, ...] = (
    *(_alnum("aws-access-key-id", prefix, "[A-Z0-9]{16}") for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    _alnum("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{100,}={0,2}"),
    _word("gcp-api-key", "AIza", "[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _word("google-oauth-token", "ya29.", "[A-Za-z0-9_-]{20,}"),
    _word("google-oauth-secret", "GOCSPX-", "[A-Za-z0-9_-]{24,}"),
    _word("google-refresh-token", "1//0", "[A-Za-z0-9_-]{40,}"),
    Rule("azure-client-secret", "Q~", WORD_START + r"[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}", (4,)),
    Rule("azure-sas", "sig=", r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/]{40,}={0,2})"),
    *(_alnum("github-token", f"gh{kind}_", "[A-Za-z0-9]{36,}") for kind in "pousr"),
    _word("github-token", "github_pat_", "[A-Za-z0-9_]{50,}"),
    *(
        _word("gitlab-token", f"gl{kind}-", r"[A-Za-z0-9_-]{20,}(?:\.[a-z0-9.]+)?")
        for kind in ("pat", "ptt", "dt", "rt", "oas", "cbt", "imt", "ft", "soat", "agent", "ffct")
    ),
    _word("gitlab-token", "GR1348941", "[A-Za-z0-9_-]{20,}"),
    _word("slack-token", "xox", r"(?:[abeoprs]|e\.xox[bp])-[A-Za-z0-9-]{16,}"),
    _word("slack-token", "xapp-", "[A-Za-z0-9-]{20,}"),
    Rule(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?:" + _WEBHOOK + ")",
    ),
    *(_alnum("stripe-key", prefix, "[A-Za-z0-9]{16,}") for prefix in ("sk_live_", "rk_live_")),
    _alnum("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/]{24,}={0,2}"),
    _word("anthropic-api-key", "sk-ant-", "[A-Za-z0-9_-]{20,}"),
    _word("openrouter-api-key", "sk-or-", "[A-Za-z0-9_-]{32,}"),
    _word(
        "openai-api-key", "sk-", "(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,}(?![_-]))"
    ),
    _alnum("groq-api-key", "gsk_", "[A-Za-z0-9]{40,}"),
    _alnum("xai-api-key", "xai-", "[A-Za-z0-9]{60,}"),
    _alnum("perplexity-api-key", "pplx-", "[A-Za-z0-9]{40,}"),
    _alnum("replicate-token", "r8_", "[A-Za-z0-9]{36,}"),
    _alnum("huggingface-token", "hf_", "[A-Za-z0-9]{30,}"),
    _word("nvidia-api-key", "nvapi-", "[A-Za-z0-9_-]{50,}"),
    _word("langsmith-key", "lsv2_", "(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,}"),
    _alnum("npm-token", "npm_", "[A-Za-z0-9]{36,}"),
    _word("pypi-token", "pypi-", "[A-Za-z0-9_-]{50,}"),
    _alnum("rubygems-key", "rubygems_", "[a-f0-9]{48}"),
    _alnum("crates-io-token", "cio", "[A-Za-z0-9]{32}"),
    _alnum("nuget-key", "oy2", "[a-z0-9]{43}"),
    _word("docker-hub-token", "dckr_", "(?:pat|oat)_[A-Za-z0-9_-]{24,}"),
    _alnum("artifactory-token", "AKCp", "[A-Za-z0-9]{60,}"),
    _word("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{20,32}\.[A-Za-z0-9_-]{20,64}"),
    _alnum("twilio-key", "SK", "[0-9a-fA-F]{32}"),
    _alnum("mailgun-key", "key-", "[0-9a-f]{32}"),
    Rule("mailchimp-key", "-us", ALNUM_START + r"[0-9a-f]{32}-us[0-9]{1,2}" + ALNUM_END, (32,)),
    _alnum("brevo-key", "xkeysib-", "[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Rule("telegram-bot-token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])", (10, 9, 8)),
    *(_word("discord-token", start, _DISCORD) for start in _words("MT Mj Mz ND NT Nj Nz OD OT")),
    Rule("discord-webhook", "/api/webhooks/", r"/api/webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{50,}"),
    *(_alnum("digitalocean-token", f"do{kind}_v1_", "[a-f0-9]{64}") for kind in "opr"),
    _alnum("databricks-token", "dapi", "[a-f0-9]{32}(?:-[0-9])?"),
    *(_alnum("shopify-token", f"shp{kind}_", "[a-fA-F0-9]{32}") for kind in ("at", "ca", "pa", "ss")),
    _word("linear-key", "lin_", "(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _alnum("notion-token", "ntn_", "[A-Za-z0-9]{40,}"),
    _alnum("notion-token", "secret_", "[A-Za-z0-9]{43}"),
    _word("square-token", "sq0", "(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    _word("square-token", "EAAA", "[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])"),
    _word("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    *(_word("vault-token", f"hv{kind}.", "[A-Za-z0-9_-]{24,}") for kind in "sbr"),
    _word(
        "vault-token",
        "s.",
        "(?![A-Za-z]{24})(?![a-z0-9]{24})(?![A-Z0-9]{24})[A-Za-z0-9]{24}(?![A-Za-z0-9_.-])",
    ),
    Rule("terraform-token", ".atlasv1.", ALNUM_START + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}", (14,)),
    _alnum("grafana-token", "glc_", "[A-Za-z0-9+/]{32,}={0,2}"),
    _word("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _alnum("sentry-token", "sntrys_", "[A-Za-z0-9+/]{40,}={0,2}(?:_[A-Za-z0-9+/]{40,})?"),
    _alnum("sentry-token", "sntryu_", "[a-f0-9]{64}"),
    _alnum("new-relic-key", "NRAK-", "[A-Z0-9]{27}"),
    _word("dynatrace-token", "dt0c01.", r"[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    _word("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{60,}"),
    _alnum("bitbucket-password", "ATBB", "[A-Za-z0-9]{32}"),
    _word("postman-key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    _alnum("pulumi-token", "pul-", "[a-f0-9]{40}"),
    _word("fly-token", "fo1_", "[A-Za-z0-9_-]{40,}"),
    _alnum("supabase-token", "sbp_", "[a-f0-9]{40}"),
    _word("supabase-token", "sb_secret_", "[A-Za-z0-9_-]{20,}"),
    _word("planetscale-token", "pscale_", "(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    _alnum("netlify-token", "nfp_", "[A-Za-z0-9]{36,}"),
    _alnum("render-key", "rnd_", "[A-Za-z0-9]{28,}"),
    _word("heroku-key", "HRKU-", "[A-Za-z0-9_-]{36,}"),
    Rule("airtable-token", "pat", ALNUM_START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _word("figma-token", "figd_", "[A-Za-z0-9_-]{36,}"),
    _word("contentful-token", "CFPAT-", "[A-Za-z0-9_-]{40,}"),
    _alnum("alibaba-key-id", "LTAI", "[A-Za-z0-9]{20}"),
    *(_alnum("sonarqube-token", f"sq{kind}_", "[a-f0-9]{40}") for kind in "upa"),
    _word("tailscale-key", "tskey-", "[a-z]+-[A-Za-z0-9-]{16,}"),
    _alnum("age-secret-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    Rule("azure-devops-token", "AZDO", ALNUM_START + r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" + ALNUM_END, (76,)),
    _word("pinecone-key", "pcsk_", "[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}"),
    _word("langfuse-secret-key", "sk-lf-", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    *(_alnum("buildkite-token", f"bk{kind}_", "[A-Za-z0-9]{36,}") for kind in ("ua", "ct", "aa", "aj", "ps")),
    *(_word("circleci-token", f"CCI{kind}_", "[A-Za-z0-9]{20,24}_[a-f0-9]{40}") for kind in ("PAT", "PRJ")),
    _alnum("neon-key", "napi_", "[a-z0-9]{60,}"),
    _word("tavily-key", "tvly-", "(?:(?:dev|prod)-)?[A-Za-z0-9-]{24,}"),
    _alnum("elevenlabs-key", "sk_", "[a-f0-9]{48}"),
    _word("cohere-key", "co_", "[A-Za-z0-9]{38,}"),
    _alnum("fireworks-key", "fw_", "[A-Za-z0-9]{22,}"),
    _word("adobe-secret", "p8e-", "[A-Za-z0-9_-]{32}"),
    _word("typeform-token", "tfp_", "[A-Za-z0-9_.=-]{40,}"),
    *(
        _word("flutterwave-key", f"FLWSECK{kind}-", "[A-Za-z0-9]{12,}(?:-X)?")
        for kind in ("", "_TEST", "_LIVE")
    ),
    _alnum("octopus-key", "API-", "[A-Z0-9]{26}"),
    _alnum("huggingface-token", "api_org_", "[A-Za-z]{30,}"),
    _alnum("infracost-key", "ico-", "[A-Za-z0-9]{32}"),
    _alnum("readme-key", "rdme_", "[a-z0-9]{70}"),
    _alnum("prefect-key", "pn", "[ub]_[A-Za-z0-9]{36}"),
    *(_alnum("settlemint-token", f"sm_{kind}at_", "[A-Za-z0-9]{16}") for kind in "aps"),
    *(_alnum("shippo-token", f"shippo_{kind}_", "[A-Fa-f0-9]{40}") for kind in ("live", "test")),
    *(_alnum("easypost-key", f"EZ{kind}K", "[A-Za-z0-9]{54}") for kind in "AT"),
    *(_word("duffel-token", f"duffel_{kind}_", "[A-Za-z0-9_=-]{40,}") for kind in ("live", "test")),
    _word("frameio-token", "fio-u-", "[A-Za-z0-9_=-]{60,}"),
    _word("sourcegraph-token", "sgp_", "(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}"),
    _word("scalingo-token", "tk-us-", r"[\w-]{46,}"),
    *(_alnum("intra42-secret", f"s-s4t2{kind}-", "[a-f0-9]{64}") for kind in ("ud", "af")),
    _alnum("clojars-token", "CLOJARS_", "[A-Za-z0-9]{60}"),
    _alnum("clickhouse-key", "4b1d", "[A-Za-z0-9]{38}"),
    _alnum("artifactory-token", "cmVmd", "[A-Za-z0-9]{59}"),
    _word("1password-key", "A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    _word("1password-token", "ops_eyJ", "[A-Za-z0-9+/]{200,}={0,3}"),
    _word("cloudflare-origin-key", "v1.0-", "[a-f0-9]{24}-[a-f0-9]{146}"),
    _alnum("gitlab-session", "_gitlab_session=", "[0-9a-z]{32}"),
    _word("harness-key", "sat.", r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _word("harness-key", "pat.", r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _word("openshift-token", "sha256~", r"[\w-]{43}(?![\w-])"),
    Rule("maxmind-key", "_mmk", ALNUM_START + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk" + ALNUM_END, (36,)),
    *(_word("fly-token", f"fm{kind}_", "[A-Za-z0-9+/]{100,}={0,3}") for kind in ("1a", "1r", "2")),
    _word("facebook-token", "EAA", "[MC][A-Za-z0-9]{100,}"),
    _word("dropbox-token", "sl.", "[A-Za-z0-9_=-]{120,}"),
    _word("yandex-key", "AQVN", r"[\w-]{35,38}(?![\w-])"),
    _word(
        "plaid-token",
        "access-",
        "(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    _alnum("new-relic-key", "NRII-", "[A-Za-z0-9-]{32}"),
    _alnum("defined-networking-key", "dnkey-", "[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    _alnum("jwt-base64", "ZXlK", "[A-Za-z0-9+/]{60,}={0,2}"),
    Rule(
        "teams-webhook",
        ".webhook.office.com/webhookb2/",
        r"\.webhook\.office\.com/webhookb2/(?P<value>[a-z0-9@-]{70,}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36})",
    ),
    Rule(
        "twilio-auth-token",
        "AC",
        ALNUM_START + r"AC[0-9a-f]{32}[\"':, ]{1,6}(?P<value>[0-9a-f]{32})" + ALNUM_END,
    ),
    # The head of a private key in base64, as in a kubeconfig or a secret of Kubernetes; a certificate has another.
    *(
        _alnum("private-key-base64", "LS0tLS1CRUdJTi" + kind, "[A-Za-z0-9+/]{20,}={0,2}")
        for kind in (
            "BSU0EgUFJJVkFURSB",
            "BFQyBQUklWQVRFIE",
            "BQUklWQVRFIEtFW",
            "BPUEVOU1NIIFBSSVZBVEUg",
            "BFTkNSWVBURUQgUFJJ",
        )
    ),
    _word("jwt", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{20,}"),
)


# Secrets without a shape of their own, by what stands before them: the words (lower case, one has to occur), and
# the pattern that is tried there.
_QUOTE = r"[\"'`]?"
_HEX32 = r"(?P<value>[0-9a-f]{32})(?![0-9A-Za-z])"
_LONG_VALUE = r"[ \t]*(?::|=|is)?[ \t]+[\"'`]?(?P<value>[A-Za-z0-9+/_-]{20,}={0,2})"
_TO_VALUE = r"[^\n]{0,80}?(?<![A-Za-z0-9_/.-])"


class Beside(NamedTuple):
    """What stands after words: `words` in lower case, of which one must occur; then `pattern` is tried at each.

    `needs` is what is looked for first, in lower case; nothing where the words stand just before a long run of the
    characters of tokens.
    """

    name: str
    words: tuple[bytes, ...]
    pattern: str
    needs: bytes = b""


BESIDE: tuple[Beside, ...] = (
    Beside(
        "azure-devops-token",
        (b"azure", b"visualstudio", b"vsts"),
        _TO_VALUE + r"(?P<value>[a-z2-7]{52})(?![A-Za-z0-9])",
    ),
    Beside(
        "netrc-password",
        (b"machine ",),
        r"(?s:machine[ \t]+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(?P<value>\S{4,256}))",
        b"machine ",
    ),
    Beside(
        "kubeconfig-key",
        (b"client-key-data",),
        r"client-key-data[\"']?\s*:\s*" + _QUOTE + r"(?P<value>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    Beside("twilio-auth-token", (b"twilio",), _TO_VALUE + r"(?i:auth|token|secret)" + _TO_VALUE + _HEX32),
    Beside(
        "pinecone-key",
        (b"pinecone",),
        _TO_VALUE + r"(?P<value>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9A-Za-z-])",
    ),
    Beside("elevenlabs-key", (b"eleven", b"xi-api-key"), _TO_VALUE + _HEX32),
    Beside(
        "circleci-token",
        (b"circle",),
        _TO_VALUE + r"(?P<value>[0-9a-f]{40})(?![0-9A-Za-z])",
    ),
    Beside(
        "buildkite-token",
        (b"buildkite",),
        r"[^\n]{0,30}?(?i:token)" + _TO_VALUE + r"(?P<value>[0-9a-zA-Z]{40,50})(?![0-9A-Za-z])",
    ),
    Beside(
        "putty-key",
        (b"private-lines:",),
        r"(?i:private-lines):[ \t]*[0-9]{1,3}\s+(?P<value>(?:[A-Za-z0-9+/=]{16,80}\s+){1,80})",
    ),
    Beside(
        "command-password",
        (b"mysql", b"mariadb"),
        r"(?:mysql|mariadb)(?:[\w-]*)[ \t][^\n|;&]{0,120}?(?<=[ \t])(?:-p|--password=)[\"']?(?P<value>[^\s\"'`|;&]{4,128})",
        b" -p",
    ),
    Beside(
        "command-password",
        (b" login ", b"mongo", b"htpasswd", b"sqlcmd"),
        r"[a-z ][\w -]{2,30}[ \t][^\n|;&]{0,120}?(?<=[ \t])-[pP][ \t]+[\"']?"
        r"(?P<value>[^\s\"'`|;&-][^\s\"'`|;&]{3,128})",
        b" -p",
    ),
    Beside(
        "command-password",
        (b"openssl ",),
        r"openssl[ \t][^\n|;&]{0,120}?[ \t]-(?:k|K|passin pass:|passout pass:)[ \t]*[\"']?(?P<value>[^\s\"'`|;&]{4,128})",
        b"openssl ",
    ),
    Beside(
        "command-password",
        (b"smbclient ", b"rpcclient "),
        r"\w+[ \t][^\n|;&]{0,120}?-U[ \t]*[\"']?[^\s%]{1,64}%(?P<value>[^\s\"'`|;&]{4,128})",
        b"client ",
    ),
    Beside(
        "command-password",
        (b"net user ",),
        r"(?i:net user)[ \t]+[^\s/]+[ \t]+(?P<value>[^\s/]{6,64})",
        b"net user ",
    ),
    Beside(
        "command-password",
        (b"echo ", b"printf "),
        r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?[\"']?(?:[\w.-]{1,32}:)?(?P<value>[^\s\"'`|:]{6,256})[\"']?[ \t]*\|[^\n|]{0,80}"
        r"(?:chpasswd|passwd|(?:password|with-token|token|pass)-?stdin|with-token|sudo -S)",
        b"|",
    ),
    Beside(
        "sql-password",
        (b"identified ",),
        r"(?i:identified[ \t]+(?:with[ \t]+\w+[ \t]+)?by)[ \t]+(?:(?i:password)[ \t]+)?[\"'](?P<value>[^\s\"']{4,128})",
        b"identified ",
    ),
    *(
        Beside(
            "login-password",
            words,
            r"(?i:cred(?:ential)?s?|log(?:ged)?[ ]?in)(?:[ \t]+(?:are|is|as|with))*[ \t]*:?[ \t]+[\"'`*]{0,3}"
            r"[A-Za-z][\w.@+-]{0,40}[ \t]?[/:][ \t]?(?P<value>[^\s\"'`*/|,;()<>]{6,64})",
            need,
        )
        for need, words in (
            (b"cred", (b"credential", b"creds")),
            (b"log", (b"log in ", b"login ", b"logged in ")),
        )
    ),
    Beside(
        "vault-unseal-key",
        (b"unseal key", b"recovery key"),
        r"\w+ (?i:key)[ \t]*[0-9]{0,2}" + _LONG_VALUE,
        b" key",
    ),
    Beside(
        "authorization-token",
        (b"authorization",),
        r"(?i:authorization)[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z][\w-]{2,20}[ \t=]+[\"']?(?P<value>[A-Za-z0-9_.~+/-]{20,}={0,2})",
        b"authorization",
    ),
    Beside(
        "teams-webhook",
        (b"outlook.office.com/webhook/",),
        r"outlook\.office\.com/webhook/[a-z0-9@-]{70,}/IncomingWebhook/(?P<value>[a-z0-9]{32})",
        b"outlook.office.com/webhook/",
    ),
    Beside(
        "mailgun-key", (b"mailgun",), _TO_VALUE + r"(?P<value>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?![\w-])"
    ),
    Beside("voyage-key", (b"voyage",), _TO_VALUE + r"(?P<value>pa-[\w-]{40,48})(?![\w-])"),
    Beside(
        "django-secret-key",
        (b"django-insecure-",),
        r"django-insecure-(?P<value>[^\s\"'`]{40,60})",
        b"django-insecure-",
    ),
)
# "The password for the staging database is …", "… was changed to …": unquoted, so it has to look like one.
PROSE = (
    r"(?i:pass(?:word|phrase|code|wd)|pwd)s?\b(?P<between>[^\n\"'`=:;{}()<>|]{0,70}?)"
    r"(?i:\b(?:is|was|are|to)(?:[ \t]+(?:still|now|just|currently))?):?[ \t]+[*_]{0,2}[\"'`\u201c]?"
    r"(?P<value>(?=[^\s]*[0-9])[^\s\"'`<>()\u201c\u201d]{6,64})"
)

# "Use the password …", "| password | … |", "the client secret (…)", "set API_KEY to …": the value stands close by, between
# a few small words at most, and has to look generated.
TOLD = (
    r"(?i:(?P<word>pass(?:wor[dt]|phrase|code|wd)?|pwd|secret|token|key)s?)\b\"?'?`?"
    r"(?P<between>(?:[ \t]+[a-z]{1,12}){0,5}?"
    r"(?P<says>[ \t]*:|[ \t]+(?:is|was|to|as|es|ist|est|are)(?:[ \t]+(?:still|now|just|currently|set to))?:?)?"
    r"(?:[ \t]*\|)?[ \t]*[(\[]?)[*_]{0,2}[\"'`\u201c]?(?<=[\s(|\"'`*\u201c])"
    r"(?P<value>[^\s\"'`<>()\[\]{}|\u201c\u201d]{8,256})(?P<after>[\"'`)\]*\u201d]|[ \t]*\||[.,;:!?]?(?=\s|$))"
)
# Where the line is a setting: a password may hold what separates values elsewhere.
SETTING = (
    r"(?i:(?P<word>pass(?:word|wd|phrase)?|pwd|token|secret|key))(?:[ \t]{0,4}[=:][ \t]{0,4}|>)"
    r"(?P<value>[^\s\"'`<>,;{}()\[\]$]{8,256})(?=[ \t]*(?:$|[\n\r;#]|</))"
)
_OF_ANOTHER = r"\b(?:commit|revision|hash|digest|sha|checksum|fingerprint|id|called|named|in|from|at|see|of|length|type|by)\b"
_STANDARD = r"[A-Z]{2,}-?[0-9][0-9.-]*[A-Z]?"  # NIST-800-63B, SHA256

# Ends of names that hold a secret in "…_key"; others ("primary key", "cache_key") do not.
KEY_OWNERS = tuple(
    _words(
        "api apis app secret access private auth authentication encryption encrypt signing master account "
        "shared service license licence storage admin client session hmac aes jwt write subscription "
        "instrumentation functions deploy server consumer integration ingest rest application "
    )
)
NOT_OWNERS = frozenset(
    _words(
        "public publickey publishable primary foreign cache partition sort site next page nextpage continuation "
        "csrf xsrf pad eos bos unk mask sep cls stop max min num pagination anti device "
    )
)
# Before "token" these name an id of one request or job.
NOT_OWNERS_OF_UUIDS = NOT_OWNERS | frozenset(
    _words(
        "request idempotency trace correlation message event job task run upload lock fencing cancel cancellation design"
    )
)
PASS_OWNERS = tuple(_words("ssh db smtp imap ftp mysql pg redis user root admin mail http proxy "))
# Words that people write where a secret will go; a value made of these alone is none.
STAND_INS = frozenset(
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
# Words with numbers that are said of passwords and are none.
NO_PASSWORDS = STAND_INS | frozenset(
    _words(
        "base hex ascii ansi tls ssl ntlm kerberos ldap step line version column row level option page day days hour "
        "hours minute minutes python node web v k kb mb bit bits byte bytes step figure table section chapter port "
        "blake crypt srp sql db part rfc iso crc lm nt x p round rounds plus min max at least most about"
    )
)
REFERENCE = (
    r"\$\{|\$\(|^\$[A-Za-z_]\w*$|\{\{|\{[\w. -]*\}|#\{|<[A-Za-z_][^<>]{0,80}>|<%|"
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
        "... *** deadbeefdeadbeef sflkxwrjsmekkf2qt4 4ec39hqlyjwdarj 7mdeng"
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

# A cheap look behind a name's stem: prose ("the key idea") stops here.
ASSIGNMENT_GATE = r"[\w-]{0,24}\\?[\"'`]?\]?[ \t]{0,24}(?:[=:,(>!%\"'`]|(?i:is|was)[ \t:]|-p|value)"
ASSIGNMENT = (
    r"(?i:(?P<word>pass(?:word|wd|phrase|code)?|pwd|secret|token|key|auth)"
    r"(?:[_-]?(?:base|value|prod(?:uction)?|live|staging|dev|default|old|new|primary|secondary|admin|root|text|plain|"
    r"str|env|v?[0-9]{1,3}))?)"
    r"(?:(?P<equals>\\?[\"'`]?\]?[ \t]{0,24}"
    r"(?::[ \t]*[A-Za-z_][\w.\[\]| ]{0,30}=(?=[ \t]*[\"'])|=>|:=|={1,3}|!==?|:|%3[aAdD])[ \t]{0,24})"
    r"|(?P<loose>\\?[\"'`]?[ \t]{0,3}[,(>][ \t]{0,3}|[ \t]{1,8}(?i:(?:is|was)[ \t]*:?[ \t]{1,8}|-p[ \t]?|"
    r"value[ \t]{0,3}=[ \t]{0,3}|(?=[\"']))|[\"'][ \t]+value=))"
    r"(?:[rbfuRBFU@]{0,2}(?P<quote>\\?[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\r\n]){4,512})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&=<>(){}\[\]|\\][^\s\"'`,;&=<>(){}\[\]|\\]{3,511}={0,2}))"
)
_LOWER, _UPPER = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KINDS = tuple(map(frozenset, (_LOWER, _UPPER, "0123456789", "!@#$%^&*?~|+=")))
_DIGITS, _LETTERS = _KINDS[2], frozenset(_LOWER + _UPPER)
REDACTED = "[redacted: "  # what every replacement starts with


@cache
def compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """Return the pattern, compiled on its first use: a clean text pays for none of them."""
    return re.compile(pattern, re.ASCII)


def is_sample(token: str) -> bool:
    """Return whether a token of a vendor's shape is a documented or obviously made-up one."""
    return len(set(token[-20:])) < 6 or _holds_sample(token)


def _holds_sample(value: str) -> bool:
    lowered = value.lower()
    return any(sample in lowered for sample in SAMPLES)


def is_stand_in(value: str, *, uuid: bool = True) -> bool:
    """Return whether a value is a placeholder for a secret: a reference, template, hash, path, or word like "changeme".

    `uuid` says that an id is none, either.
    """
    if len(set(value)) < 4 or value.lower() in COMMON_PASSWORDS:
        return True
    if _holds_sample(value) or compiled(REFERENCE).search(value):
        return True
    if (uuid and compiled(UUID_OR_ULID).fullmatch(value)) or _is_path(value):
        return True
    if value.isalpha() and compiled("(?i)passw|secret|token").search(value):
        return True
    return all(_is_filler(chunk) for chunk in chunks(value.lower()))


def _is_filler(chunk: str) -> bool:
    return chunk in STAND_INS or (chunk.isdigit() and (len(chunk) < 5 or chunk in "12345678901234567890"))


def _is_path(value: str) -> bool:
    if compiled(PATH).match(value):
        return is_wordy(value, 2.4)
    return "/" in value and is_wordy(value, 3.0)


def chunks(value: str) -> list[str]:
    """Return the runs of one kind (lower-case word, upper-case word, number) that a value is made of."""
    return compiled("[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value)


def is_wordy(value: str, least: float) -> bool:
    """Return whether the runs of one kind average at least `least` characters, as in names made of words.

    Random base 62 averages 1.7, random hex 1.9, random lower-case base 36 2.5; identifiers 4 and more.
    """
    found = chunks(value)
    # A long number says nothing of the words around it.
    return not found or sum(min(len(one), 4 if one.isdigit() else 99) for one in found) >= least * len(found)


def is_random(value: str) -> bool:
    """Return whether a value reads like a generated token: long, of mixed kinds, not made of words or numbers."""
    distinct = len(set(value))
    if len(value) < 12 or len(value.split()) != 1 or distinct < 7 or distinct < min(len(value) // 4, 10):
        return False
    has_digit = not _DIGITS.isdisjoint(value)
    if _LETTERS.isdisjoint(value) or not (has_digit or _is_mixed_letters(value)):
        return False
    if compiled("[0-9a-fA-F]{20,}").fullmatch(value):
        return True
    runs = len(compiled("[0-9]+").findall(value)) if value.isalnum() else 0
    scattered = runs >= 3 or (runs == 2 and len(value) >= 15 and not value[-1].isdigit())
    return not is_wordy(value, 4.6 if scattered else 3.2 if has_digit else 2.6)


def _is_mixed_letters(value: str) -> bool:
    return len(value) >= 16 and not value.islower() and not value.isupper()


def kinds(value: str) -> int:
    """Return how many of lower case, upper case, digit and unusual symbol the value holds, 0..4."""
    return sum(not kind.isdisjoint(value) for kind in _KINDS)


def is_password(value: str, *, sure: bool) -> bool:
    """Return whether a value after a password's name reads like one; `sure`: it was in quotes or an .env line."""
    if len(value) < 6 or len(value.split()) != 1:
        return False
    if not sure:
        return len(value) >= 8 and kinds(value) >= 3
    if value.isalpha():
        return len(value) >= 9 or (kinds(value) >= 2 and not value.istitle())
    return value.isdigit() or kinds(value) >= 2


def is_beside(value: str, rule: str) -> bool:
    """Return whether a value at the right place for a rule of `BESIDE` is a secret rather than a stand-in for one."""
    if rule == "login-password":
        return kinds(value) >= 3 and is_told(value.rstrip(".!?"))
    if rule == "authorization-token":
        return bool(compiled(UUID_OR_ULID).fullmatch(value) or is_random(value)) and not is_stand_in(
            value, uuid=False
        )
    if rule.endswith("-password"):
        return (
            is_password(value, sure=True) and not is_stand_in(value) and not value.startswith(("$", "%", "-"))
        )
    return not is_sample(value)


def is_told(value: str) -> bool:
    """Return whether a word in a sentence on a password is the password: of letters with digits or unusual signs."""
    if len(value) < 6 or kinds(value) < 2 or _DIGITS.isdisjoint(value) or _LETTERS.isdisjoint(value):
        return False
    words = {chunk for chunk in chunks(value.lower()) if not chunk.isdigit()}
    if is_stand_in(value) or words <= NO_PASSWORDS:
        return False
    if compiled(r"[0-9]+[a-z%-]+|[0-9]{4}-.*|" + _STANDARD).fullmatch(value):  # 90days, a date
        return False
    return (
        "/" not in value
        and "(" not in value
        and "." not in value
        and not value.startswith(("-", "$", "@", "#"))
    )


def is_told_beside(text: str, hit: re.Match[str], value: str) -> str:
    """Return the rule that a match of TOLD falls under, "" where its value is none."""
    word, between = hit["word"].lower(), hit["between"]
    if word.startswith(("pass", "pwd")):
        digits = sum(map(value.count, _DIGITS))
        sure = kinds(value) >= 3 and (digits >= 2 or kinds(value) == 4)
        return "password-prose" if sure and is_told(value) else ""
    before = text[max(0, hit.start() - 40) : hit.start()]
    if (
        not is_random(value)
        or len(value) < 16
        or is_stand_in(value)
        or compiled(r"[\w.]*\.[\w.]*|.*/.*").fullmatch(value)
    ):
        return ""
    if compiled(_OF_ANOTHER).search(between) or not _rule_of_name(before, word, hit["word"].isupper()):
        return ""
    is_sure = len(value) >= 20 and kinds(value) >= 3  # names and ids have no capitals
    return "secret-prose" if hit["says"] or is_sure else ""


def is_setting_value(text: str, hit: re.Match[str]) -> bool:
    """Return whether a match of SETTING is a secret with unusual signs; the name has to begin its line or follow a `;`."""
    value, word = hit["value"], hit["word"].lower()
    start = max(text.rfind("\n", 0, hit.start()), text.rfind(";", 0, hit.start())) + 1
    name = compiled(r"[ \t<\w.-]*").fullmatch(text, start, hit.start())
    if name is None or is_stand_in(value) or not _rule_of_name(name[0][-40:], word, hit["word"].isupper()):
        return False
    if not word.startswith(("pass", "pwd")):
        return is_random(value) and compiled(r"[\w=/+%@-]+").fullmatch(value) is not None
    return kinds(value) >= 3 and not _DIGITS.isdisjoint(value)


def rule_of(text: str, hit: re.Match[str]) -> str:
    """Return the rule that a match of ASSIGNMENT falls under, or "" if its name or its value is no secret's."""
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
    return rule if strong and not is_stand_in(value, uuid=not _names_uuid(before, hit["word"])) else ""


def _names_uuid(before: str, word: str) -> bool:
    """Return whether a name is that of a secret even where the value is a UUID, as the keys of some hosts are."""
    owner = before.lower().rstrip(" _-.")
    last = compiled("[a-z]{0,40}$").search(owner)
    if word.lower().startswith(("token", "secret")) and not (last and last[0] in NOT_OWNERS_OF_UUIDS):
        is_hump = word[:1].isupper() and before[-1:].islower()
        if last and last[0] and (is_hump or before[-1:] in {"_", "-"}):
            return True
    return owner.endswith(
        ("api", "client", "secret") if word.lower() in ("key", "secret") else ("api", "access", "auth")
    )


def is_secret_option(name: str, value: str) -> bool:
    """Return whether the value of a command-line option is a secret by the option's name."""
    hit = compiled(
        r"(?i)(?P<word>(?:store|key|src|dest)pass|pass(?:word|wd|phrase)|secret|token|key)$"
    ).search(name)
    rule = _rule_of_name(name[: hit.start()], hit["word"].lower(), False) if hit else ""
    strong = is_random(value) if rule == "secret-assignment" else is_password(value, sure=True)
    return bool(rule) and strong and not value.isalpha() and not is_stand_in(value)


def _is_strong_password(text: str, hit: re.Match[str], value: str, *, sure: bool) -> bool:
    if hit["word"].lower() == "passphrase" and hit["quoted"] and value.count(" ") >= 3:
        return True
    if value.isalpha() and (not sure or "=" not in (hit["equals"] or "")):
        return False
    return is_password(value, sure=sure or _ends_line(text, hit, value))


def _rule_of_name(before: str, word: str, upper: bool) -> str:
    """Return the rule that a name such as "DB_PASSWORD" or "api key" falls under, or "" if it names no secret."""
    owner = before.lower().rstrip(" _-.")
    last = compiled("[a-z]{0,40}$").search(owner, max(0, len(owner) - 16))
    if "]" not in before.rpartition(REDACTED)[2] and REDACTED in before:  # the name of a rule
        return ""
    if last and last[0] in NOT_OWNERS:
        return ""
    if word == "key":
        known = owner.endswith(KEY_OWNERS) or (upper and before.endswith("_"))
        return "secret-assignment" if known else ""
    if word in {"pass", "auth"} and before[-1:].isalnum() and not owner.endswith(PASS_OWNERS):
        return ""
    return "password-assignment" if word.startswith(("pass", "pwd")) else "secret-assignment"


def _is_setting(text: str, hit: re.Match[str], before: str) -> bool:
    """Return whether a bare value stands in an .env line, after a command's option or in an XML element."""
    if hit["loose"]:
        return hit["loose"].strip() == "-p" or text[hit.end() : hit.end() + 1] == "<"
    return hit["equals"] == "=" and (hit["word"].isupper() or before.endswith("--"))


def _ends_line(text: str, hit: re.Match[str], value: str) -> bool:
    """Return whether a bare value with a digit is all that follows its name, as in YAML and INI files."""
    rest = compiled(r"[,;)}\]]?[ \t]{0,8}(?:#[^\n]*)?(?:\r?\n|\Z|\\n)|[;&]").match(text, hit.end())
    return rest is not None and not (is_wordy(value, 3.5) and kinds(value) < 3)


def _is_joined(text: str, hit: re.Match[str], before: str) -> bool:
    """Return whether a name and value without "=" or ":" between them belong together."""
    joint, quoted = hit["loose"].strip(" \t\\\"'`").lower(), hit["quoted"] is not None
    if joint == ">":
        return text[hit.end() : hit.end() + 1] == "<"
    if joint == "-p":
        return before.lower().endswith("ssh")
    if joint.startswith(("is", "was")):
        return True
    return quoted and (bool(joint) or hit["word"].isupper())  # SQL: IDENTIFIED … PASSWORD '…'


def _is_code(following: str, value: str) -> bool:
    """Return whether a bare value is a call, an index or a dotted name rather than text."""
    if following not in {"(", "["} and "." not in value:
        return False
    name = compiled(r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*").fullmatch(value)
    return name is not None and (following in {"(", "["} or is_wordy(value, 2.6))
