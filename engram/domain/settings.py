"""Every configuration key: its type, default, who may set it, and what it means. docs/configuration.md is checked against it."""

from __future__ import annotations

from collections.abc import Mapping

from engram.domain.admission.trust import HOLDS
from engram.domain.entry.categories import TYPES, fold
from engram.domain.errors import ConfigError
from engram.domain.typed import NamedTuple

PLACEMENTS = ("dedicated", "branch", "in-tree")
PROVIDERS = ("bundled", "path", "onnx", "endpoint", "none")
HIDDEN = "(set, not shown)"
THEMES = ("dark", "light", "high-contrast", "colour-blind")


class Key(NamedTuple):
    """One configuration key. `user_only` keys count only in the user's own file, never in a store's.

    `choices` limits text values; `low` and `high` limit numbers. Of the choices, `own_choices` count only in the
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
        """Whether a store's file may say this, or only the user's own."""
        return not self.user_only and value not in self.own_choices

    def shown(self, value: object) -> object:
        """The value as it may be seen."""
        return HIDDEN if self.secret and value else value


KEYS = (
    Key("store.placement", "", "Where lore lives: `dedicated` (a repository of its own; every change is committed), `branch` (the branch `engram/lore` of your code repository; every change is committed there) or `in-tree` (files of your own repository; you commit them). Set by `engram init`.", choices=PLACEMENTS),
    Key("store.folder", "lore", "The folder of lore, relative to the store."),
    Key("store.categories", {}, "Categories of your own: a table of name = type (`episodic`, `semantic`, `procedural` or `working`)."),
    Key("record.category", "", "The category `record` uses when none is given (none: it must be given)."),
    Key("record.confidence", 0.7, "The confidence new lore starts with.", low=0, high=1),
    Key("record.agent", "", "Who records, when neither `--agent` nor the calling coding agent says (default: `human`).", user_only=True),
    Key("review.agents", "active", "Whether what agents record is `active` at once, or `pending` until a person lets it in.", choices=("active", "pending")),
    Key("review.junk", "pending", "What becomes of a text that is plainly no lore (a greeting, a log dump, bare code, a question): `pending`, `refuse`, or `active` like any other.", choices=("pending", "refuse", "active")),
    Key("graph.detect", True, "Whether names of entities that stand in the text of a new lore are added to its `entities` (only entities that there are; docs/entities.md)."),
    Key("stale.repository", "", "The code repository that the lore of dedicated stores are about, to find those whose files changed (default: the one you work in; lore in a code repository are about that).", user_only=True),
    Key("recall.limit", 5, "How many lore a query returns.", low=1, high=100),
    Key("recall.min_confidence", 0.5, "Lore below this confidence is not recalled.", low=0, high=1),
    Key("recall.budget", 500, "About how many tokens of lore a query prints.", low=50, high=100000),
    Key("ranking.words", 0.53, "The share of a lore's relevance that words have; the rest is meaning's. This key and the three after it are what `engram evolve` can propose (docs/evolution.md).", low=0, high=0.9),
    Key("ranking.standing", 0.1, "The share of a score that depends on confidence, use and kind.", low=0, high=0.5),
    Key("ranking.half_life", 1.0, "What the half-lives of memory strength are multiplied by.", low=0.25, high=4),
    Key("ranking.threshold", 0.0, "How much more than usual must speak for a lore for it to be shown.", low=-0.2, high=0.4),
    Key("recall.log", True, "Whether queries, tools and hooks leave a line in the live record (local, never in git).", user_only=True),
    Key("graph.hop", False, "Whether a query also brings lore one step away: about an entity that the question or the best of its answer name."),
    Key("embedding.provider", "bundled", "What turns text into vectors: the `bundled` model, a model2vec folder at `path`, a sentence transformer in ONNX there (`onnx`), an OpenAI-compatible `endpoint` (only in your own file: lore is sent to it), or `none` (words only). See docs/embedding.md.", choices=PROVIDERS, own_choices=("endpoint",)),
    Key("embedding.path", "", "The folder of the model for the providers `path` and `onnx`.", user_only=True),
    Key("embedding.url", "", "The address of the provider `endpoint`, up to `/embeddings`: https, or http on this machine.", user_only=True),
    Key("embedding.model", "", "The name of the model to ask the endpoint for.", user_only=True),
    Key("embedding.dimensions", 0, "The length of vectors to ask the endpoint for (0: as long as it gives them).", user_only=True, low=0, high=8192),
    Key("embedding.timeout", 3.0, "Seconds that an endpoint has for a question; without an answer by then, words alone find lore.", user_only=True, low=0.1, high=60),
    Key("embedding.key", "", "The key for the endpoint, if it wants one; the variable `ENGRAM_EMBEDDING_KEY` counts before it. Never shown.", user_only=True, secret=True),
    Key("secrets.allow", [], "Texts that look like secrets and are not: the text itself or the start of its SHA-256."),
    Key("trust.hold", "none", "Which lore that comes by sync or clone waits until you accept it: `none`, `unsigned` (not signed by a known key), `foreign` (all from other clones).", user_only=True, choices=HOLDS),
    Key("trust.accept", [], "Whose lore never waits: key fingerprints, addresses of signers, and with `foreign` ids of sources. What these sources claim counts at once.", user_only=True),
    Key("hooks.brief_budget", 600, "About how many tokens of lore a session starts with.", low=50, high=20000),
    Key("hooks.recall_budget", 300, "About how many tokens of lore a hook adds to a prompt or to the use of a tool.", low=50, high=20000),
    Key("hooks.ask", True, "Whether an agent is asked once a session which of the lore it was shown helped.", user_only=True),
    Key("hooks.capture", True, "Whether hooks record what was learned, as pending lore, when a task or session ends.", user_only=True),
    Key("hooks.sync", True, "Whether hooks sync a dedicated store with its remote in the background.", user_only=True),
    Key("sync.interval", 0, "Minutes between syncs that happen by themselves, in the background after a command (0: never). After failures the next try is later.", user_only=True, low=0, high=10080),
    Key("sync.on_session", False, "Whether the start and the end of a session sync, in the background.", user_only=True),
    Key("git.background", True, "Whether commits happen in the background, after the command has answered.", user_only=True),
    Key("team.members", {}, "Who may do what here: a table of agent = deeds (`record`, `judge`, `forget`), `human` for people, `*` for everybody else. Empty: everybody everything. A guard rail, see docs/team.md."),
    Key("team.policies", {}, "Categories that are left to some: a table of category = names. A guard rail, too."),
    Key("team.archive_days", 90, "Days after which `engram maintain` archives summaries of sessions that nobody found helpful since, and handoffs that were taken over (0: never).", low=0, high=36500),
    Key("maintain.auto", True, "Whether `engram maintain` runs by itself, in the background after a sync, at most once a day.", user_only=True),
    Key("scopes.session.weight", 1.5, "How much the score of a session's lore weighs.", user_only=True, low=0, high=10),
    Key("scopes.session.retention_days", 7, "Days after which the store of a session that nobody used is deleted.", user_only=True, low=1, high=3650),
    Key("scopes.project.weight", 1.0, "How much the score of the project's lore weighs.", user_only=True, low=0, high=10),
    Key("scopes.project.retention_days", 0, "Days after which the project's lore is not recalled any more, counted from when it was recorded or last found helpful (0: never; pinned lore: never).", user_only=True, low=0, high=36500),
    Key("scopes.project.garbage_days", 0, "Days after which `engram maintain` deletes what is archived, superseded or past its retention (0: never). History keeps them.", user_only=True, low=0, high=36500),
    Key("scopes.user.weight", 0.7, "How much the score of your own lore weighs.", user_only=True, low=0, high=10),
    Key("scopes.user.retention_days", 0, "The same days for your own store.", user_only=True, low=0, high=36500),
    Key("scopes.user.garbage_days", 0, "The same days for your own store.", user_only=True, low=0, high=36500),
    Key("app.theme", "dark", "The colours of the terminal app.", user_only=True, choices=THEMES),
    Key("app.keys", {}, "Keys of your own in the terminal app: a table of action = keys, such as `archive = \"A\"` (docs/app.md).", user_only=True),
)  # fmt: skip
# What `engram scope add NAME` writes for each team.
TEAM_KEYS = (
    Key("scopes.NAME.url", "", "The address that a team's store is cloned from.", user_only=True),
    Key("scopes.NAME.path", "", "Where its clone is (default: `engram/teams/NAME` in your data folder).", user_only=True),
    Key("scopes.NAME.weight", 0.8, "How much the score of its lore weighs.", user_only=True, low=0, high=10),
    Key("scopes.NAME.readonly", False, "Whether nothing is written to it from here, and `sync` only brings in.", user_only=True),
    Key("scopes.NAME.retention_days", 0, "The same days for this team's lore.", user_only=True, low=0, high=36500),
    Key("scopes.NAME.garbage_days", 0, "Days after which `engram maintain` deletes what is archived or past its retention there.", user_only=True, low=0, high=36500),
)  # fmt: skip
SCOPES = "scopes"
BUILT_IN_SCOPES = ("session", "project", "user")
_BY_NAME = {key.name: key for key in KEYS}
_TEAM_KEYS = {key.name.rpartition(".")[2]: key for key in TEAM_KEYS}
_LONGEST_NAME = 40


class Settings:
    """The settings in force: the user's file over the store's over the defaults."""

    def __init__(self, values: Mapping[str, object]) -> None:
        """`values` are checked values by key name."""
        self._values = dict(values)

    def get(self, name: str) -> object:
        """The value of a key."""
        return self._values[name] if name in self._values else key_named(name).default

    def text(self, name: str) -> str:
        """The value of a text key."""
        return str(self.get(name))

    def differs(self, name: str) -> bool:
        """Whether a file says something else than the default."""
        return name in self._values and self._values[name] != key_named(name).default

    def number(self, name: str) -> float:
        """The value of a number key."""
        value = self.get(name)
        assert isinstance(value, int | float)
        return value

    def flag(self, name: str) -> bool:
        """The value of a yes/no key."""
        return bool(self.get(name))

    def but(self, values: Mapping[str, object]) -> Settings:
        """These settings, with other values for some keys."""
        return Settings({**self._values, **values})

    def items(self) -> dict[str, object]:
        """Every key with the value in force; those of teams are not among them."""
        return {key.name: self.get(key.name) for key in KEYS}

    def teams(self) -> tuple[str, ...]:
        """The names of the teams that are configured, in the order of the file."""
        named = [name.split(".")[1] for name in self._values if name.startswith("scopes.")]
        return tuple([name for name in dict.fromkeys(named) if name not in BUILT_IN_SCOPES])


def key_named(name: str, where: str = "") -> Key:
    """The key of that name. Raises ConfigError that names the nearest one."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    table, _, rest = name.partition(".")
    team, _, key = rest.partition(".")
    if table == SCOPES and key in _TEAM_KEYS and is_team_name(team):
        return _TEAM_KEYS[key]._replace(name=name)
    import difflib

    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(_BY_NAME)}."
    raise ConfigError(f"{where}{': ' if where else ''}there is no setting '{name}'.", hint)


def is_team_name(name: str) -> bool:
    """Whether a team's scope may be called so: lower-case words and digits with `-` between them."""
    words = name.split("-")
    return (
        name not in BUILT_IN_SCOPES
        and len(name) <= _LONGEST_NAME
        and name.isascii()
        and name[:1].isalpha()
        and all(word.isalnum() and word == word.lower() for word in words)
    )


def check(name: str, value: object, where: str) -> object:
    """The value, checked for its key. `where` names the file. Raises ConfigError."""
    key = key_named(name, where)
    wanted = type(key.default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        raise ConfigError(f"{where}: {name} must be {_kind(wanted)}, not {value!r}.", key.doc)
    if key.choices and value not in key.choices:
        raise ConfigError(f"{where}: {name} cannot be '{value}'.", f"Valid values: {', '.join(key.choices)}.")
    if key.low is not None and key.high is not None and not key.low <= float(str(value)) <= key.high:
        raise ConfigError(f"{where}: {name} must be from {key.low:g} to {key.high:g}, not {value}.")
    if name == "store.folder":
        _check_folder(str(value), where)
    if isinstance(value, dict):
        _CHECKS_OF_TABLES[name](value, where)
    return value


def parsed(key: Key, text: str) -> object:
    """A value as the key's type: texts as they are, everything else as JSON or TOML would write it. Raises ConfigError."""
    import json

    if isinstance(key.default, str):
        return check(key.name, text, "the value given")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = [part.strip() for part in text.split(",")] if isinstance(key.default, list) else text
    return check(key.name, value, "the value given")


def flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A TOML document as dotted names; tables that are values themselves stay whole, empty ones say nothing."""
    found: dict[str, object] = {}
    for name, value in table.items():
        full = prefix + name
        if isinstance(value, Mapping) and full not in _BY_NAME:
            is_known = any(key.name.startswith(full + ".") for key in KEYS) or prefix == "scopes."
            found |= flatten(value, full + ".") or ({} if is_known else {full: {}})
        else:
            found[full] = value
    return found


def _kind(wanted: type) -> str:
    names = {
        str: "text",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return names[wanted]


def _check_categories(value: Mapping[str, object], where: str) -> None:
    for name, kind in value.items():
        if not fold(str(name)).isidentifier():
            raise ConfigError(
                f"{where}: store.categories: {str(name)[:80]!r} cannot be the name of a category.",
                "Name it with letters, digits and `_`.",
            )
        if kind not in TYPES:
            raise ConfigError(
                f"{where}: store.categories: '{name}' has the type {kind!r}.",
                f"Valid types: {', '.join(TYPES)}.",
            )


def _check_keys(value: Mapping[str, object], where: str) -> None:
    for name, keys in value.items():
        if not isinstance(keys, str) or not keys.strip() or not keys.isprintable():
            raise ConfigError(
                f"{where}: app.keys: '{str(name)[:80]}' must be the name of a key, not {keys!r}.",
                'For example: archive = "A", or two of them: "A,ctrl+a".',
            )


def _check_members(value: Mapping[str, object], where: str) -> None:
    from engram.domain.admission.policy import check_members  # few stores have any

    check_members(value, where)


def _check_policies(value: Mapping[str, object], where: str) -> None:
    from engram.domain.admission.policy import check_policies

    check_policies(value, where)


_CHECKS_OF_TABLES = {
    "store.categories": _check_categories,
    "app.keys": _check_keys,
    "team.members": _check_members,
    "team.policies": _check_policies,
}


def _check_folder(value: str, where: str) -> None:
    parts = value.split("/")
    if (
        not value
        or value.startswith("/")
        or "\\" in value
        or ":" in value
        or any(p in ("", ".", "..", ".git") for p in parts)
    ):
        raise ConfigError(
            f"{where}: store.folder must be a folder inside the store, not '{value}'.", "For example: lore"
        )
