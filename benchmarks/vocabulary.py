"""The vocabulary of generated entries: a few hundred words listed here, the rest built from them by rule.

Together more than 20,000 distinct words, with frequencies by Zipf's law: rank r has weight 1 / (r + 2.7)
(Mandelbrot 1953), plain words first, then identifiers, paths, errors, versions and made-up names.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from random import Random


def _words(text: str) -> list[str]:
    return text.split()


NOUNS = _words("""queue worker cache session token index migration schema replica shard consumer producer broker topic partition
 offset cursor batch request response header payload body endpoint route handler middleware controller service client
 server proxy gateway balancer socket connection pool thread process lock mutex semaphore deadlock race retry backoff
 timeout deadline budget quota limit throttle circuit fallback heartbeat lease election leader follower snapshot backup
 restore archive bucket object blob file folder path symlink inode volume mount disk memory heap stack buffer stream
 parser lexer compiler linker loader module package dependency version release branch merge rebase conflict commit tag
 pipeline build artifact container image layer registry cluster node pod namespace secret certificate key cipher hash
 digest signature password credential role permission policy scope tenant account customer invoice payment refund
 ledger balance currency rounding discount order basket shipment address email template locale translation timezone
 calendar schedule cron job task report export import spreadsheet column row record field constraint trigger
 transaction isolation rollback savepoint vacuum statistics planner join aggregate window query filter sort cursor page
 feed webhook callback event listener hook plugin extension theme widget component form input dialog menu table chart
 canvas layout stylesheet selector viewport breakpoint gesture keyboard focus screen reader fixture mock snapshot
 assertion coverage benchmark profiler flamegraph trace span metric counter gauge histogram label alert dashboard
 incident runbook rotation postmortem feature flag experiment cohort rollout canary model embedding vector tokenizer
 prompt agent tool context summary memory lore journal checkpoint manifest lockfile wheel runtime interpreter kernel
 driver firmware sensor packet frame route subnet firewall resolver record zone""")
VERBS = _words("""retries caches drops locks parses validates renders fetches sends stores deletes renames merges splits rotates
 compresses encrypts verifies signs schedules cancels resumes replays batches streams buffers flushes throttles rejects
 accepts escapes normalises truncates rounds sorts filters joins indexes scans rebuilds migrates rolls copies moves
 watches polls pushes pulls publishes subscribes acknowledges commits reverts tags builds deploys restarts drains
 scales allocates frees leaks blocks wakes sleeps waits imports exports loads reloads registers resolves redirects
 proxies mounts detaches inherits overrides mutates freezes clones serialises deserialises logs traces samples""")
ADJECTIVES = _words("""idempotent stale partial nested empty concurrent asynchronous remote local shared private global temporary
 permanent optional required default explicit implicit lazy eager strict loose slow fast large small old new broken
 flaky reliable durable volatile cached expired invalid valid unknown duplicate missing orphaned read-only writable
 signed unsigned public internal external legacy experimental deprecated stable unstable cold warm""")
TOOLS = _words("""postgres redis kafka rabbitmq sqlite mysql mongodb elasticsearch nginx envoy haproxy docker kubernetes helm
 terraform ansible jenkins github gitlab pytest hypothesis mypy ruff django flask fastapi sqlalchemy alembic celery
 pydantic numpy pandas polars duckdb spark airflow react vue svelte webpack vite typescript node deno bun rust cargo
 tokio serde go gradle maven kotlin swift xcode android ios flutter grpc protobuf graphql openapi oauth jwt saml ldap
 tls ssh git mercurial bash zsh vim emacs vscode tmux systemd cron rsync curl jq awk sed ffmpeg imagemagick pandoc
 prometheus grafana sentry datadog opentelemetry jaeger vault consul etcd zookeeper minio cloudfront lambda dynamodb
 bigquery snowflake dbt stripe twilio sendgrid""")
SITUATIONS = """in production; on the staging cluster; under load; after a deploy; during the nightly run; in CI only;
 on Windows; on macOS; behind the proxy; with two replicas; after a failover; in the integration tests; on first start;
 when the disk is full; when the network is slow; for large tenants; with an empty database; in the mobile app;
 after an upgrade; on arm64; in the container; with strict mode on; without a network; at midnight UTC""".replace(
    "\n", ""
).split(";")
_ERROR_ENDS = _words("Error Exception Timeout Failure Warning Refused Overflow Conflict")
_ERROR_STARTS = _words(
    "Connection Integrity Validation Permission Lookup Decode Encode Lock Quota Schema Migration Token"
)
_SYLLABLES = _words(
    "ba be bi bo da de di do fa fe ga go ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro"
)
_ENDS = _words("dex lia mon nix pel quo rax sol tra vex wyn zen")
_SUFFIXES = _words("py ts go rs sql yaml toml sh md tf")
_RANK_SHIFT = 2.7


class Vocabulary(NamedTuple):
    """Words by falling frequency, and the cumulative sums of their weights (for `random.choices`)."""

    words: list[str]
    weights: list[float]

    def draw(self, random: Random, count: int) -> list[str]:
        """Draw `count` words, by the weight of their rank."""
        return random.choices(self.words, cum_weights=self.weights, k=count)


def build(random: Random) -> Vocabulary:
    """Build the whole vocabulary; `random` decides which words are frequent."""
    plain = list(dict.fromkeys([*NOUNS, *ADJECTIVES, *TOOLS, *VERBS]))
    random.shuffle(plain)
    made = [*identifiers(random, 9_000), *errors(), *paths(random, 4_000), *versions(), *names(random, 9_000)]
    random.shuffle(made)
    words = list(dict.fromkeys([*plain, *made]))
    return Vocabulary(words, list(accumulate(1 / (rank + _RANK_SHIFT) for rank in range(1, len(words) + 1))))


def identifiers(random: Random, count: int) -> list[str]:
    """Make identifiers as in code: `retry_queue_worker`, `StaleLockParser`, `flushBuffer()`, `MAX_LEASE_OFFSET`."""
    found = []
    for number in range(count):
        first, second, third = (
            random.choice(ADJECTIVES).replace("-", ""),
            random.choice(NOUNS),
            random.choice(NOUNS),
        )
        found.append(
            (
                f"{first}_{second}_{third}",
                f"{first.title()}{second.title()}{third.title()}",
                f"{second}{third.title()}()",
                f"MAX_{second.upper()}_{third.upper()}",
            )[number % 4]
        )
    return found


def errors() -> list[str]:
    """Make names of errors: `TokenTimeoutError`, `psycopg.LockConflict`."""
    nouns = dict.fromkeys(noun.title() for noun in NOUNS[:60])
    return [f"{start}{noun}{end}" for start in _ERROR_STARTS for noun in nouns for end in _ERROR_ENDS[:2]]


def paths(random: Random, count: int) -> list[str]:
    """Make paths of source files: `services/ledger/retry_queue.py`."""
    tops = ("src", "services", "packages", "tests", "deploy", "docs", "web/app")
    return [
        f"{random.choice(tops)}/{random.choice(NOUNS)}/{random.choice(NOUNS)}_{random.choice(NOUNS)}.{random.choice(_SUFFIXES)}"
        for _ in range(count)
    ]


def versions() -> list[str]:
    """Make versions and codes: `3.11.4`, `v2.7`, `E1042`, `HTTP 503`."""
    whole = [
        f"{major}.{minor}.{patch}"
        for major in range(4)
        for minor in range(0, 20, 2)
        for patch in range(0, 9, 2)
    ]
    return [
        *whole,
        *(f"E{code}" for code in range(1000, 1400)),
        *(f"HTTP {code}" for code in range(400, 520, 7)),
    ]


def names(random: Random, count: int) -> list[str]:
    """Make up names of projects, hosts and tools: `kamonix`, `delira-dex`."""
    return [
        "".join(random.choices(_SYLLABLES, k=random.randint(2, 3))) + random.choice(_ENDS)
        for _ in range(count)
    ]
