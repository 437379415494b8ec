"""Token formats of vendors, which are recognizable without context.

The formats are from the vendors' own documentation. Every pattern is linear: it starts at a word start
and its runs use the same characters as that guard, so no character is read more than a few times.
"""

from __future__ import annotations

import re

from engram.domain.typed import NamedTuple

# A word start; the characters after a literal "\n" (escaped text in JSON or logs) count as one too.
ALNUM_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
WORD_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
ALNUM_END = r"(?![A-Za-z0-9])"


class Rule(NamedTuple):
    """A vendor's token: where `needle` occurs, `pattern` is tried `back` characters before it.

    A group named `value` marks the secret if it is not the whole match.
    """

    name: str
    needle: str
    pattern: str
    back: tuple[int, ...] = (0,)


def _alnum(name: str, needle: str, rest: str) -> Rule:
    return Rule(name, needle, ALNUM_START + re.escape(needle) + rest + ALNUM_END)


def _word(name: str, needle: str, rest: str) -> Rule:
    return Rule(name, needle, WORD_START + re.escape(needle) + rest)


_DISCORD = r"[A-Za-z0-9]{22,26}\.[\w-]{6}\.[\w-]{27,40}"
_WEBHOOK = r"(?:T[A-Z0-9]{6,}/B[A-Z0-9]{6,}|T[A-Z0-9]{6,}/[A-Z0-9]{6,})/[A-Za-z0-9]{20,}|[A-Za-z0-9+/]{43,56}"

RULES: tuple[Rule, ...] = (
    *(_alnum("aws-access-key-id", prefix, "[A-Z0-9]{16}") for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    _word("aws-bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/]{24,}={0,2}"),
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
    *(
        _alnum("stripe-key", prefix, "[A-Za-z0-9]{16,}")
        for prefix in ("sk_live_", "rk_live_", "sk_prod_", "rk_prod_")
    ),
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
    _word("sendgrid-key", "SG.", r"[A-Za-z0-9_=-]{20,32}\.[A-Za-z0-9_=-]{20,64}"),
    _alnum("twilio-key", "SK", "[0-9a-fA-F]{32}"),
    _alnum("mailgun-key", "key-", "[0-9a-f]{32}"),
    Rule("mailchimp-key", "-us", ALNUM_START + r"[0-9a-f]{32}-us[0-9]{1,2}" + ALNUM_END, (32,)),
    _alnum("brevo-key", "xkeysib-", "[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Rule("telegram-bot-token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])", (10, 9, 8)),
    *(
        _word("discord-token", start, _DISCORD)
        for start in ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")
    ),
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
    _word("grafana-token", "eyJrIjoi", "[A-Za-z0-9+/]{60,}={0,3}"),
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
    _word("planetscale-token", "pscale_", "(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
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
    _alnum("firecrawl-key", "fc-", "[a-f0-9]{32}"),
    _alnum("posthog-key", "phx_", "[A-Za-z0-9]{40,}"),
    _alnum("resend-key", "re_", "[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    _word("infisical-token", "st.", r"[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
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
    # The header of a private key in base64, as in a kubeconfig or a Kubernetes secret; certificates have another.
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
