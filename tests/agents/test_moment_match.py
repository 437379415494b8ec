"""Which moments an event matches, by the commands it runs, its files, tool and error, and what only looks alike."""

from __future__ import annotations

import time

import pytest

from engram.domain.agents.command_signals import commands_of
from engram.domain.agents.moment_match import Event, match_moments, matches_path, parse_event


def fits(moment: str, **event: object) -> bool:
    fields = {"commands": tuple(commands_of(str(event.pop("command", ""))))} | event
    return match_moments(Event(**fields), [moment]) == [moment]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git push", "git push"),
        ("git push", "git -C ../x -c a.b=c push --force origin main"),
        ("git push", "git --no-pager push"),
        ("git push", "/usr/bin/git push"),
        ("git push origin", "git push -u origin main"),
        ("git push --force", "git push origin main --force"),
        ("git push -f", "git push -uf"),
        ("rm -rf", "rm -r -f x"),
        ("kubectl delete", "kubectl --context prod -n x delete pod"),
        ("uv run alembic upgrade", "poetry run alembic -c x.ini upgrade head"),
        ("python manage.py migrate", "./manage.py migrate orders"),
        ("pytest tests/integration", "python -m pytest -q ./tests/integration/"),
        ("./scripts/deploy.sh", "bash scripts/deploy.sh staging"),
        ("deploy.py", "python tools/deploy.py"),
        ("npm run deploy*", "npm run deploy:prod"),
        ("terraform apply -auto-approve", "terraform -chdir=x apply -auto-approve plan"),
        ("terraform", "terraform"),
        ("cargo publish", "cargo +nightly publish"),
        ("make seed", "make -C db SIZE=small -s MODE=fast seed"),
        ("make SIZE=small seed", "make seed -j2 SIZE=small"),
        ("gradlew assemble", "./gradlew -q clean :app:lint assemble"),
        ("make dist upload", "make upload clean dist"),
        ("node --max-old-space-size=*", "node --max-old-space-size=4096 x.js"),
        ("deploy.py", "python -u tools/deploy.py"),
        ("wrangler deploy", "npx -y wrangler@3.2 deploy"),
        ("kubectl drain", "cat nodes.txt | parallel -j2 kubectl drain {}"),
        ("gsutil rm", "find logs -mtime +9 -exec gsutil -m rm gs://x/{} +"),
    ],
)
def test_a_command_pattern_matches_the_beginning_of_a_command_that_runs(pattern: str, line: str) -> None:
    assert fits(f"command: {pattern}", command=line)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git push", "git pushd"),
        ("git push", "gitpush"),
        ("git push", "git stash push"),
        ("git push", "git commit -m push"),
        ("git push", "git commit -m 'git push'"),
        ("git push", "echo git push"),
        ("git push", 'grep -rn "git push" .'),
        ("git push", "ls # git push"),
        ("git push", "git help push"),
        ("git push origin", "git push"),
        ("git push --force", "git push --force-with-lease"),
        ("git push --force", "git push; rm --force x"),
        ("rm -rf", "rm -r x; rm -f y"),
        ("terraform apply", "terraform plan"),
        ("pytest tests/integration", "pytest tests/integration_old"),
        ("npm publish", "npm run publish"),
        ("make seed", "make test seed=1"),
        ("make SIZE=small seed", "make SIZE=large seed"),
        ("psql", "command -v psql"),
        ("rm -rf", "find . -name 'rm -rf' -exec ls -rf {} +"),
        ("deploy.py", "python -u test.py deploy.py"),
    ],
)
def test_a_command_that_only_looks_alike_does_not_match(pattern: str, line: str) -> None:
    assert not fits(f"command: {pattern}", command=line)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.tf", "main.tf", True),
        ("*.tf", "infra/net/main.tf", True),
        ("*.tf", "main.tfvars", False),
        ("migrations/**", "migrations/1.sql", True),
        ("migrations/**", "services/api/migrations/versions/1.py", True),
        ("migrations/**", "docs/migrations.md", False),
        ("migrations/**", "migrations", False),
        ("migrations/", "migrations/1.sql", True),
        ("/db/schema.sql", "db/schema.sql", True),
        ("/db/schema.sql", "api/db/schema.sql", False),
        ("src/**/test_*.py", "src/test_x.py", True),
        ("src/**/test_*.py", "src/a/b/test_x.py", True),
        ("src/*/x.py", "src/a/b/x.py", False),
        (".env.*", "apps/web/.env.local", True),
        (".env.*", ".env", False),
        ("[ab].txt", "x/b.txt", True),
        ("/", "a", False),
    ],
)
def test_file_patterns_match_as_in_gitignore(pattern: str, path: str, expected: bool) -> None:
    assert matches_path(path, pattern) is expected


def test_a_tool_matches_by_name_in_any_case() -> None:
    assert fits("tool: webfetch", tool="WebFetch")
    assert fits("tool: mcp__sentry__*", tool="mcp__sentry__get_issue")
    assert not fits("tool: mcp__sentry__*", tool="mcp__sentryish__x")
    assert not fits("tool: WebFetch")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("deadlock detected", "psycopg2.errors.DeadlockDetected: Deadlock   detected\nDETAIL: x", True),
        ("deadlock detected", "no deadlock\ndetected", False),
        ("prepared statement * does not exist", 'ERROR: prepared statement "s_4" does not exist', True),
        ("prepared statement * does not exist", "does not exist: prepared statement", False),
        ("E11", "CODE11: E112", False),
        ("E11", "E110 and (E11)", True),
        ("*", "anything", False),
        ("a+b (x", "A+B (x", True),
    ],
)
def test_an_error_matches_by_words_on_one_line(pattern: str, text: str, expected: bool) -> None:
    assert fits(f"error: {pattern}", error=text) is expected


def test_an_unknown_kind_matches_nothing_and_matching_is_fast() -> None:
    assert not fits("weekday: Friday", command="git push", tool="Friday")
    began = time.process_time()
    assert not fits(f"error: {'a*' * 90}b", error="a" * 20_000)
    assert not fits(f"file: {'**/a*/' * 30}b", files=("/".join(["a"] * 200),))
    fits(f"command: x {'a ' * 90}b", command="x " + "-o a " * 4000)
    assert time.process_time() - began < 1.0


def test_an_event_is_parsed_as_a_command_a_file_a_tool_or_an_error() -> None:
    for line, moment in (
        ("sudo git push origin", "command: git push"),
        ("infra/main.tf", "file: *.tf"),
        ("cd infra && vim net/main.tf", "file: /infra/net/**"),
        ("mcp__x__y", "tool: mcp__*"),
        ("ERROR: deadlock detected", "error: deadlock detected"),
    ):
        assert match_moments(parse_event(line), [moment]), line
