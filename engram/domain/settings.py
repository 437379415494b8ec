"""The configuration keys: type, default, who may set each, and its meaning. docs/configuration.md is generated from them."""

from __future__ import annotations

from collections.abc import Mapping

from engram.domain.admission.trust import HOLDS
from engram.domain.entry.categories import TYPES, fold
from engram.domain.errors import ConfigError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

PLACEMENTS = ("dedicated", "branch", "in-tree")
PROVIDERS = ("bundled", "neural", "path", "onnx", "endpoint", "none")
HIDDEN = "(set, not shown)"
TRUTHS = ("true", "false")
THEMES = ("dark", "light", "high-contrast", "colour-blind")


class Key(NamedTuple):
    """A configuration key. `user_only` keys count only in the user's own file, never in a store's.

    `choices` limits text values, `low` and `high` limit numbers. Of the choices, `own_choices` count only in the
    user's own file. A `secret` value is never shown.
    """

    name: str
    default: object
    doc: str
    user_only: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    own_choices: tuple[str, ...] = ()
    secret: bool = False

    def counts_in_a_store(self, value: object) -> bool:
        """Whether the store's file may set this value, not only the user's own."""
        return not self.user_only and value not in self.own_choices

    def shown(self, value: object) -> object:
        """Return the value as it may be shown, without a secret."""
        return HIDDEN if self.secret and value else value


KEYS = (
    Key("store.placement", "", "Where lore is kept: `dedicated` (a separate repository; every change is committed), `branch` (the branch `engram/lore` of your code repository; every change is committed there) or `in-tree` (files of your code repository; you commit them). Set by `engram init`.", choices=PLACEMENTS),
    Key("store.folder", "lore", "The folder of lore, relative to the store; `.` is all markdown below it (`engram init --here`)."),
    Key("store.aliases", False, "Whether the title of an entry is also written into its `aliases`, so that Obsidian follows `[[Title]]`; always so where `store.folder` is `.`."),
    Key("store.categories", {}, "Additional categories: a table of name = type (`episodic`, `semantic`, `procedural` or `working`)."),
    Key("record.category", "", "The default category of `record` (empty: guessed from the text, `fact` where nothing suggests another)."),
    Key("record.confidence", 0.7, "The initial confidence of new entries.", low=0, high=1),
    Key("record.agent", "", "Who records, if neither `--agent` nor the calling coding agent says so (default: `human`).", user_only=True),
    Key("record.author", True, "Whether your name, as git knows it, and that of your machine are written with what you record. `judgements.name = false` leaves them out, too.", user_only=True),
    Key("record.machine", "", "The name of this machine that others see (default: its host name).", user_only=True),
    Key("review.agents", "active", "Whether entries recorded by agents are `active` at once, or `pending` until a person accepts them.", choices=("active", "pending")),
    Key("review.junk", "pending", "How to treat a text that is obviously not worth recording (a greeting, a log dump, bare code, a question): `pending`, `refuse`, or `active` like any other.", choices=("pending", "refuse", "active")),
    Key("graph.detect", True, "Whether the names of existing entities in the text of a new entry are added to its `entities` (docs/entities.md)."),
    Key("stale.repository", "", "The code repository that the lore of dedicated stores is about, to find entries whose files changed (default: the one you work in; lore in a code repository is about that one).", user_only=True),
    Key("recall.limit", 5, "The number of entries that a query returns.", low=1, high=100),
    Key("recall.min_confidence", 0.5, "Entries below this confidence are not recalled.", low=0, high=1),
    Key("recall.budget", 500, "Approximate number of tokens of lore that a query prints.", low=50, high=100000),
    Key("ranking.words", 0.53, "The weight of words in the relevance of an entry; the rest is meaning. `engram evolve` can propose this key and the three after it (docs/evolution.md).", low=0, high=0.9),
    Key("ranking.standing", 0.1, "The part of a score that depends on confidence, use and type.", low=0, high=0.5),
    Key("ranking.half_life", 1.0, "A factor on the half-lives of memory strength.", low=0.25, high=4),
    Key("ranking.threshold", 0.0, "How much more evidence than usual an entry needs to be shown.", low=-0.2, high=0.4),
    Key("recall.log", True, "Whether queries, tools and hooks write to the activity log (local, never in git).", user_only=True),
    Key("graph.hop", False, "Whether a query also returns lore one step away in the graph: about an entity that the question or its best entries name."),
    Key("embedding.provider", "bundled", "The source of vectors: the `bundled` model, that and a sentence transformer together (`neural`; needs the extra of that name), a model2vec folder at `path`, a sentence transformer in ONNX there (`onnx`), an OpenAI-compatible `endpoint` (only in your own file: lore is sent to it), or `none` (words only). See docs/embedding.md.", choices=PROVIDERS, own_choices=("endpoint",)),
    Key("embedding.questions", "mapped", "How the provider `neural` treats a question: `mapped` (in no time, by the bundled model) or `read` (by the transformer: finds more, and takes 10 ms of processor time, in a command or hook 30 and the import of numpy).", choices=("mapped", "read")),
    Key("embedding.graph", 100000, "From how many vectors on (a long entry has several) a graph over them finds the nearest (docs/performance.md); it is made in the background. 0: never.", low=0, high=1000000000),
    Key("embedding.path", "", "The folder of the model for the providers `path` and `onnx`.", user_only=True),
    Key("embedding.url", "", "The address of the provider `endpoint`, up to `/embeddings`: https, or http on this machine.", user_only=True),
    Key("embedding.model", "", "The name of the model to ask the endpoint for.", user_only=True),
    Key("embedding.dimensions", 0, "The length of vectors to ask the endpoint for (0: the default of the model).", user_only=True, low=0, high=8192),
    Key("embedding.timeout", 3.0, "Seconds to wait for the endpoint in a query; after that, lore is found by words alone.", user_only=True, low=0.1, high=60),
    Key("embedding.key", "", "The API key for the endpoint, if it needs one; the variable `ENGRAM_EMBEDDING_KEY` overrides it. Never shown.", user_only=True, secret=True),
    Key("secrets.allow", [], "Texts that look like secrets but are not: the text itself or a prefix of its SHA-256."),
    Key("trust.hold", "none", "Which lore from a sync or clone is quarantined until you accept it: `none`, `unsigned` (not signed by a known key; people who judged are then counted by signature), `foreign` (all from other clones).", user_only=True, choices=HOLDS),
    Key("trust.accept", [], "Whose lore is never quarantined: key fingerprints, addresses of signers, and with `foreign` ids of sources. The confidence that these sources claim counts at once.", user_only=True),
    Key("trust.mine", [], "Your other machines, by the ids of their sources (`engram show` prints them): what they record and judge counts as here.", user_only=True),
    Key("hooks.brief_budget", 600, "Approximate number of tokens of lore at the start of a session.", low=50, high=20000),
    Key("hooks.recall_budget", 400, "Approximate number of tokens of lore that a hook adds to a prompt or tool call.", low=50, high=20000),
    Key("hooks.ask", True, "Whether an agent is asked once per session which of the lore it was shown helped.", user_only=True),
    Key("hooks.capture", True, "Whether hooks capture what was learned when a task or session ends.", user_only=True),
    Key("sync.auto", True, "Whether a store that you have synced once goes on by itself: in the background at the start and end of a session, and 30 seconds after the last change (docs/sync.md). `hooks.sync` and `sync.on_session` are older names for it.", user_only=True),
    Key("sync.interval", 0, "Minutes between further automatic syncs of a store that you have synced once, in the background after a command (0: none). The interval grows after failures.", user_only=True, low=0, high=10080),
    Key("sync.hooks", False, "Whether a sync runs the repository's own pre-push hook for the branch of lore (docs/sync.md).", user_only=True),
    Key("judgements.branch", "engram/judgements", "The branch on which judgements of entries are kept, in every store under git. All clones of a store need the same."),
    Key("judgements.publish", "", "Whether `engram sync` pushes judgements, with the names of those who judged (default: yes where the branch of lore is the store's own; no in an in-tree store and in CI). A store's file can only forbid it.", choices=TRUTHS, own_choices=("true",)),
    Key("judgements.name", True, "Whether your name, as git knows it, is published with your judgements.", user_only=True),
    Key("git.background", True, "Whether to commit in the background, after the command has returned.", user_only=True),
    Key("team.members", {}, "Who may do what: a table of agent = actions (`record`, `judge`, `forget`), `human` for people, `*` for everybody else. Empty: everybody may do everything. A guard rail, see docs/team.md."),
    Key("team.policies", {}, "Categories reserved for some agents: a table of category = names. Also a guard rail."),
    Key("team.archive_days", 90, "Days after which `engram maintain` archives accepted handoffs, and session summaries that nobody has found helpful since (0: never).", low=0, high=36500),
    Key("maintain.auto", True, "Whether `engram maintain` runs automatically, in the background after a sync, at most once a day.", user_only=True),
    Key("scopes.session.weight", 1.5, "The weight of scores of the session's lore.", user_only=True, low=0, high=10),
    Key("scopes.session.retention_days", 7, "Days after which the unused store of a session is deleted.", user_only=True, low=1, high=3650),
    Key("scopes.project.weight", 1.0, "The weight of scores of the project's lore.", user_only=True, low=0, high=10),
    Key("scopes.project.retention_days", 0, "Days after which an entry of the project is no longer recalled, counted from when it was recorded or last found helpful (0: never; pinned entries: never).", user_only=True, low=0, high=36500),
    Key("scopes.project.garbage_days", 0, "Days after which `engram maintain` deletes entries that are archived, superseded or past their retention (0: never). Git's history keeps them.", user_only=True, low=0, high=36500),
    Key("scopes.user.weight", 0.7, "The weight of scores of your own lore.", user_only=True, low=0, high=10),
    Key("scopes.user.retention_days", 0, "As `scopes.project.retention_days`, for your own store.", user_only=True, low=0, high=36500),
    Key("scopes.user.garbage_days", 0, "As `scopes.project.garbage_days`, for your own store.", user_only=True, low=0, high=36500),
    Key("app.theme", "dark", "The colours of the terminal app.", user_only=True, choices=THEMES),
    Key("app.keys", {}, "Your own key bindings in the terminal app: a table of action = keys, such as `archive = \"X\"` (docs/app.md).", user_only=True),
)  # fmt: skip
# What `engram scope add NAME` writes for each team.
TEAM_KEYS = (
    Key("scopes.NAME.url", "", "The address from which the team's store is cloned.", user_only=True),
    Key("scopes.NAME.path", "", "Where its clone is (default: `engram/teams/NAME` in your data folder).", user_only=True),
    Key("scopes.NAME.weight", 0.8, "The weight of scores of its lore.", user_only=True, low=0, high=10),
    Key("scopes.NAME.readonly", False, "Whether this machine only reads the store; `sync` then only pulls.", user_only=True),
    Key("scopes.NAME.retention_days", 0, "As `scopes.project.retention_days`, for the team's lore.", user_only=True, low=0, high=36500),
    Key("scopes.NAME.garbage_days", 0, "As `scopes.project.garbage_days`, for the team's lore.", user_only=True, low=0, high=36500),
)  # fmt: skip
# Older names, which may still be in files.
ALIASES = {"hooks.sync": "sync.auto", "sync.on_session": "sync.auto"}
SCOPES = "scopes"
BUILT_IN_SCOPES = ("session", "project", "user")
_BY_NAME = {key.name: key for key in KEYS}
_TEAM_KEYS = {key.name.rpartition(".")[2]: key for key in TEAM_KEYS}
_LONGEST_NAME = 40


class Settings:
    """The effective settings: the user's file, then the store's, then the defaults."""

    def __init__(self, values: Mapping[str, object]) -> None:
        """`values` are checked values by key name."""
        self._values = dict(values)

    def get(self, name: str) -> object:
        """Return the value of a key."""
        return self._values[name] if name in self._values else key_named(name).default

    def text(self, name: str) -> str:
        """Return the value of a text key."""
        return str(self.get(name))

    def differs(self, name: str) -> bool:
        """Whether a file sets a value other than the default."""
        return name in self._values and self._values[name] != key_named(name).default

    def number(self, name: str) -> float:
        """Return the value of a number key."""
        value = self.get(name)
        assert isinstance(value, int | float)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the value of a list key."""
        value = self.get(name)
        assert isinstance(value, list)
        return tuple(map(str, value))

    def table(self, name: str) -> dict[str, Any]:
        """Return the value of a table key."""
        value = self.get(name)
        assert isinstance(value, dict)
        return value

    def flag(self, name: str) -> bool:
        """Return the value of a true/false key."""
        return bool(self.get(name))

    def but(self, values: Mapping[str, object]) -> Settings:
        """Return a copy of these settings with other values for some keys."""
        return Settings({**self._values, **values})

    def items(self) -> dict[str, object]:
        """Return the values of all keys but those of teams."""
        return {key.name: self.get(key.name) for key in KEYS}

    def teams(self) -> tuple[str, ...]:
        """Return the names of the configured teams, in the order of the file."""
        names = [name.split(".")[1] for name in self._values if name.startswith("scopes.")]
        return tuple([name for name in dict.fromkeys(names) if name not in BUILT_IN_SCOPES])


def key_named(name: str, where: str = "") -> Key:
    """Find a key by its current or an older name. Raises ConfigError that suggests the nearest name."""
    name = ALIASES.get(name, name)
    if name in _BY_NAME:
        return _BY_NAME[name]
    table, _, rest = name.partition(".")
    team, _, key = rest.partition(".")
    if table == SCOPES and key in _TEAM_KEYS and is_team_name(team):
        return _TEAM_KEYS[key]._replace(name=name)
    import difflib

    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(_BY_NAME)}."
    message = f"{where}: there is no setting '{name}'." if where else f"There is no setting '{name}'."
    raise ConfigError(message, hint)


def is_team_name(name: str) -> bool:
    """Whether a team's scope may have this name: lower-case words and digits joined by `-`."""
    words = name.split("-")
    return (
        name not in BUILT_IN_SCOPES
        and len(name) <= _LONGEST_NAME
        and name.isascii()
        and name[:1].isalpha()
        and all(word.isalnum() and word == word.lower() for word in words)
    )


def check(name: str, value: object, where: str = "") -> object:
    """Check a value and return it in the type of its key. `where` is the file that it comes from, if any. Raises ConfigError."""
    key = key_named(name, where)
    at = f"{where}: " if where else ""
    expected = type(key.default)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if key.choices == TRUTHS and isinstance(value, bool):
        value = str(value).lower()
    if type(value) is not expected:
        raise ConfigError(f"{at}{name} must be {_type_name(expected)}, not {value!r}.", key.doc)
    if key.choices and value not in key.choices:
        raise ConfigError(f"{at}{name} cannot be '{value}'.", f"Valid values: {', '.join(key.choices)}.")
    if key.low is not None and key.high is not None and not key.low <= float(str(value)) <= key.high:
        raise ConfigError(f"{at}{name} must be from {key.low:g} to {key.high:g}, not {value}.")
    if name == "store.folder":
        _check_folder(str(value), at)
    if name == "judgements.branch":
        _check_branch(str(value), at)
    if isinstance(value, dict):
        _TABLE_CHECKS[name](value, at)
    return value


def parse_value(key: Key, text: str) -> object:
    """Parse a value given as text: texts unchanged, other types as JSON or a comma-separated list. Raises ConfigError."""
    import json

    if isinstance(key.default, str):
        return check(key.name, text)
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = [part.strip() for part in text.split(",")] if isinstance(key.default, list) else text
    return check(key.name, value)


def flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Flatten a TOML document to dotted names. Tables that are values stay whole; empty ones are left out."""
    found: dict[str, object] = {}
    for name, value in table.items():
        full = prefix + name
        if isinstance(value, Mapping) and full not in _BY_NAME:
            is_known = any(key.name.startswith(full + ".") for key in KEYS) or prefix == "scopes."
            found |= flatten(value, full + ".") or ({} if is_known else {full: {}})
        else:
            found[full] = value
    return found


def replace_aliases(values: Mapping[str, object]) -> dict[str, object]:
    """Replace older names in checked values. A current name takes precedence; among several older ones, false does."""
    found = {name: value for name, value in values.items() if name not in ALIASES}
    for old, name in ALIASES.items():
        if old in values and name not in values:
            found[name] = bool(values[old]) and bool(found.get(name, True))
    return found


def _type_name(kind: type) -> str:
    names = {
        str: "text",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return names[kind]


def _check_categories(value: Mapping[str, object], at: str) -> None:
    for name, kind in value.items():
        if not fold(str(name)).isidentifier():
            raise ConfigError(
                f"{at}store.categories: {str(name)[:80]!r} cannot be the name of a category.",
                "Name it with letters, digits and `_`.",
            )
        if kind not in TYPES:
            raise ConfigError(
                f"{at}store.categories: '{name}' has the type {kind!r}.", f"Valid types: {', '.join(TYPES)}."
            )


def _check_keys(value: Mapping[str, object], at: str) -> None:
    for name, keys in value.items():
        if not isinstance(keys, str) or not keys.strip() or not keys.isprintable():
            raise ConfigError(
                f"{at}app.keys: '{str(name)[:80]}' must be the name of a key, not {keys!r}.",
                'For example: archive = "X", or two of them: "a,X".',
            )


def _check_members(value: Mapping[str, object], at: str) -> None:
    from engram.domain.admission.policy import check_members  # few stores have any

    check_members(value, at)


def _check_policies(value: Mapping[str, object], at: str) -> None:
    from engram.domain.admission.policy import check_policies

    check_policies(value, at)


_TABLE_CHECKS = {
    "store.categories": _check_categories,
    "app.keys": _check_keys,
    "team.members": _check_members,
    "team.policies": _check_policies,
}


def _check_folder(value: str, at: str) -> None:
    parts = value.split("/")
    if value == ".":
        return
    if (
        not value
        or value.startswith("/")
        or "\\" in value
        or ":" in value
        or any(part in ("", ".", "..", ".git") for part in parts)
    ):
        raise ConfigError(
            f"{at}store.folder must be a folder inside the store, not '{value}'.", "For example: lore"
        )


def _check_branch(value: str, at: str) -> None:
    parts = value.split("/")
    if (
        any(letter in " ~^:?*[\\\x7f" or letter < " " for letter in value)
        or ".." in value
        or "@{" in value
        or value.startswith("-")
        or value in ("@", "HEAD", "engram/lore")
        or any(not part or part.startswith(".") or part.endswith((".", ".lock")) for part in parts)
    ):
        raise ConfigError(
            f"{at}judgements.branch cannot be '{value}'.",
            "Name a branch for judgements alone, such as engram/judgements.",
        )
