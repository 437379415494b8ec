"""Secrets that are recognized by the words before them: names of services, commands and files.

Every pattern is linear, like those of `secret_rules`; `secret_rules.is_keyed_secret` rules out placeholders.
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

_QUOTE = r"[\"'`]?"
_HEX32 = r"(?P<value>[0-9a-f]{32})(?![0-9A-Za-z])"
_HEX40 = r"(?P<value>[0-9a-f]{40})(?![0-9A-Za-z])"
_LONG_VALUE = r"[ \t]*(?::|=|is)?[ \t]+[\"'`]?(?P<value>[A-Za-z0-9+/_-]{20,}={0,2})"
_TO_VALUE = r"[^\n]{0,80}?(?<![A-Za-z0-9_/.-])"


class KeyedValue(NamedTuple):
    """A secret after one of `words` (in lower case): `pattern` is tried at each, if the text also contains `needs`."""

    name: str
    words: tuple[bytes, ...]
    pattern: str
    needs: bytes = b""


KEYED_VALUES: tuple[KeyedValue, ...] = (
    KeyedValue(
        "azure-devops-token",
        (b"azure", b"visualstudio", b"vsts", b"az devops"),
        _TO_VALUE + r"(?P<value>[a-z2-7]{52})(?![A-Za-z0-9])",
    ),
    KeyedValue(
        "netrc-password",
        (b"machine ", b"default login "),
        r"(?s:(?:machine[ \t]+\S{1,100}|default)\s+login\s+\S{1,100}\s+password\s+(?P<value>\S{4,256}))",
    ),
    KeyedValue(
        "pgpass-password",
        (b":5432:",),
        r":5432:[^\s:]{1,64}:[^\s:]{1,64}:(?P<value>[^\s:]{4,128})",
    ),
    KeyedValue(
        "personal-access-token",
        (b"curl ",),
        r"curl[ \t][^\n|;&]{0,120}?(?<=[ \t])-u[ \t]*[\"']?(?P<value>[A-Za-z0-9_-]{20,128}):(?=[\s\"'])",
        needs=b"-u",
    ),
    KeyedValue(
        "kubeconfig-key",
        (b"client-key-data",),
        r"client-key-data[\"']?\s*:\s*" + _QUOTE + r"(?P<value>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    KeyedValue("twilio-auth-token", (b"twilio",), _TO_VALUE + r"(?i:auth|token|secret)" + _TO_VALUE + _HEX32),
    KeyedValue(
        "pinecone-key",
        (b"pinecone",),
        _TO_VALUE + r"(?P<value>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9A-Za-z-])",
    ),
    KeyedValue("wandb-key", (b"wandb login ",), r"wandb login[^\n]{0,40}?[ =]" + _HEX40),
    KeyedValue(
        "aws-secret-access-key",
        (b"aws_secret_access_key ",),
        r"\w+[ \t]+[\"']?(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    KeyedValue("elevenlabs-key", (b"eleven", b"xi-api-key"), _TO_VALUE + _HEX32),
    KeyedValue(
        "circleci-token",
        (b"circle",),
        _TO_VALUE + _HEX40,
    ),
    KeyedValue(
        "buildkite-token",
        (b"buildkite",),
        r"[^\n]{0,30}?(?i:token)" + _TO_VALUE + r"(?P<value>[0-9a-zA-Z]{40,50})(?![0-9A-Za-z])",
    ),
    KeyedValue(
        "putty-key",
        (b"private-lines:",),
        r"(?i:private-lines):[ \t]*[0-9]{1,3}\s+(?P<value>(?:[A-Za-z0-9+/=]{16,80}\s+){1,80})",
    ),
    KeyedValue(
        "command-password",
        (b"mysql", b"mariadb"),
        r"(?:mysql|mariadb)(?:[\w-]*)[ \t][^\n|;&]{0,120}?(?<=[ \t])(?:-p|--password=)(?P<quote>[\"'])?"
        r"(?P<value>(?(quote)[^\s\"']|[^\s\"'`|;&]){4,128})",
        needs=b"-p",
    ),
    KeyedValue(
        "command-password",
        (b" login ", b"mongo", b"htpasswd", b"sqlcmd", b"mycli "),
        r"[a-z ][\w -]{2,30}[ \t][^\n|;&]{0,120}?(?<=[ \t])-[pP][ \t]+[\"']?"
        r"(?P<value>[^\s\"'`|;&-][^\s\"'`|;&]{3,128})",
        needs=b"-p",
    ),
    KeyedValue(
        "command-password",
        (b"openssl ",),
        r"openssl[ \t][^\n|;&]{0,120}?[ \t]-(?:k|K|passin pass:|passout pass:)[ \t]*[\"']?(?P<value>[^\s\"'`|;&]{4,128})",
    ),
    KeyedValue(
        "command-password",
        (b"smbclient ", b"rpcclient "),
        r"\w+[ \t][^\n|;&]{0,120}?-U[ \t]*[\"']?[^\s%]{1,64}%(?P<value>[^\s\"'`|;&]{4,128})",
        needs=b"%",
    ),
    KeyedValue(
        "command-password",
        (b"net user ",),
        r"(?i:net user)[ \t]+[^\s/]+[ \t]+(?P<value>[^\s/]{6,64})",
    ),
    KeyedValue(
        "command-password",
        (b"net use ",),
        r"(?i:net use[ \t][^\n]{0,120}?/user:)\S+[ \t]+(?P<value>[^\s/]{6,64})",
    ),
    KeyedValue(
        "command-password",
        (b"add_user ", b"change_password "),
        r"\w+[ \t]+[\"']?[\w.@-]{1,64}[\"']?[ \t]+[\"']?(?P<value>[^\s\"'`|;&]{6,64})",
        needs=b"rabbitmqctl ",
    ),
    KeyedValue(
        "command-password",
        (b"htpasswd ",),
        r"htpasswd[ \t]+-\w*b\w*[ \t]+\S+[ \t]+[\w.@-]{1,64}[ \t]+[\"']?(?P<value>[^\s\"'`|;&]{6,64})",
    ),
    KeyedValue(
        "command-password",
        (b"ldapsearch ", b"ldapmodify ", b"ldapadd ", b"ldapwhoami ", b"ldapdelete ", b"ldappasswd "),
        r"\w+[ \t][^\n|;&]{0,120}?(?<=[ \t])-w[ \t]*[\"']?(?P<value>[^\s\"'`|;&]{6,128})",
    ),
    KeyedValue(
        "command-password",
        (b"zip ", b"unrar ", b"unzip "),
        r"\w+[ \t][^\n|;&]{0,120}?(?<=[ \t])-P[ \t]*[\"']?(?P<value>[^\s\"'`|;&]{6,128})",
        needs=b"-p",
    ),
    KeyedValue(
        "command-password",
        (b"kinit ", b"sudo -s", b"passwd ", b"cryptsetup "),
        r"\w+[ \t][^\n|;&]{0,120}?<<<[ \t]*[\"']?(?P<value>[^\s\"'`|;&]{6,128})",
        needs=b"<",
    ),
    KeyedValue(
        "wifi-password",
        (b"psk",),
        r"(?i:psk)[\"']?[ \t]*[:=][ \t]*" + _QUOTE + r"(?P<value>[^\s\"'`,;]{8,64})",
    ),
    KeyedValue(
        "personal-access-token",
        (b"_pat", b" pat"),
        r"[_ ](?i:pat)[\"']?[ \t]*[:=][ \t]*" + _QUOTE + r"(?P<value>[\w/:.~+-]{20,256})",
    ),
    KeyedValue(
        "command-password",
        (b"echo ", b"printf "),
        r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?[\"']?(?:[\w.-]{1,32}:)?(?P<value>[^\s\"'`|:]{6,256})[\"']?[ \t]*\|[^\n|]{0,80}"
        r"(?:chpasswd|passwd|(?:password|with-token|token|pass)-?stdin|with-token|sudo -S)",
        needs=b"|",
    ),
    KeyedValue(
        "sql-password",
        (b"identified ",),
        r"(?i:identified[ \t]+(?:with[ \t]+\w+[ \t]+)?by)[ \t]+(?:(?i:password)[ \t]+)?[\"'](?P<value>[^\s\"']{4,128})",
    ),
    KeyedValue(
        "login-password",
        (b"credential", b"creds", b"log in ", b"login ", b"logged in "),
        r"(?i:cred(?:ential)?s?|log(?:ged)?[ ]?in)(?:[ \t]+(?:are|is|as|with))*[ \t]*:?[ \t]+[\"'`*]{0,3}"
        r"[A-Za-z][\w.@+-]{0,40}[ \t]?[/:][ \t]?(?P<value>[^\s\"'`*/|,;()<>]{6,64})",
    ),
    KeyedValue(
        "told-password",
        (b"with ",),
        r"with[ \t]+[\"'`]?(?P<value>[^\s\"'`<>()]{6,64})[\"'`]?[ \t]+as[ \t]+(?:(?:the|its|a)[ \t]+)?(?i:pass)",
        needs=b"pass",
    ),
    KeyedValue(
        "login-password",
        (b"admin", b"root"),
        r"(?<![\w./-])\w+[ \t]?/[ \t]?[\"'`]?(?P<value>(?=[^\s/]*[!@#$%^*~+])[^\s\"'`/=?&<>()]{8,64})(?!\S*/)",
    ),
    KeyedValue(
        "command-password",
        (b"secret set ", b"variable set "),
        r"\w+ set [^\n|;&]{0,120}?(?<=[ \t])(?:-b|--body|--value)[ \t=]+[\"']?(?P<value>[^\s\"'`$|;&]{6,256})",
    ),
    KeyedValue(
        "told-password",
        (b"kennwort", b"contrase"),
        r"\w{1,30}(?:[^\n\"'`=;{}()<>|]{0,70}?(?:[:=]|\b(?i:is|es|era|ist|lautet|war)|[ \t]\S{1,2}))?[ \t]+[*_]{0,2}[\"'`]?"
        r"(?P<value>(?=\S*[0-9])[^\s\"'`<>()]{6,64})",
    ),
    KeyedValue(
        "kubeadm-token",
        (b"kubeadm ",),
        _TO_VALUE + r"(?P<value>[a-z0-9]{6}\.[a-z0-9]{16})(?![\w.-])",
    ),
    KeyedValue(
        "otp-seed",
        (b"otpauth://",),
        r"otpauth://[^\s\"'`]{1,200}?[?&]secret=(?P<value>[A-Za-z2-7]{16,128})",
    ),
    KeyedValue(
        "session-token",
        (b"cookie:", b"-b "),
        r"(?i:cookie:|-b)[ \t][^\n]{0,200}?(?i:sess(?:ion)?(?:_?id)?|sid|auth|token|jwt)=(?P<value>[\w.%+/-]{20,512})",
    ),
    KeyedValue(
        "vault-unseal-key",
        (b"unseal key", b"recovery key"),
        r"\w+ (?i:key)[ \t]*[0-9]{0,2}" + _LONG_VALUE,
    ),
    KeyedValue(
        "authorization-token",
        (b"authorization",),
        r"(?i:authorization)[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z][\w-]{2,20}[ \t=]+[\"']?(?P<value>[A-Za-z0-9_.~+/-]{20,}={0,2})",
    ),
    KeyedValue(
        "teams-webhook",
        (b"outlook.office.com/webhook/",),
        r"outlook\.office\.com/webhook/[a-z0-9@-]{70,}/IncomingWebhook/(?P<value>[a-z0-9]{32})",
    ),
    KeyedValue(
        "mailgun-key", (b"mailgun",), _TO_VALUE + r"(?P<value>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?![\w-])"
    ),
    KeyedValue("voyage-key", (b"voyage",), _TO_VALUE + r"(?P<value>pa-[\w-]{40,48})(?![\w-])"),
    KeyedValue(
        "django-secret-key",
        (b"django-insecure-",),
        r"django-insecure-(?P<value>[^\s\"'`]{40,60})",
    ),
)
