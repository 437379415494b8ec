"""Signals of an event to recall by: programs and files of commands, and files in prompts.

Equivalent mutants: the most files and words taken, changed by one.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.agents.command_signals import Command, commands_of, files_in, is_common_file


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("see docs/ddl.md", ["docs/ddl.md"]),
        ("Is `src/app/db.py` (or ./conf.toml) right?", ["src/app/db.py", "./conf.toml"]),
        ("compare a.py, b.py; then a.py.", ["a.py", "b.py"]),
        ("read https://a.example/x.html first", []),
        ("bump it to 1.24, thanks.", []),
    ],
)
def test_files_in_a_text_are_recognized_by_folders_or_extension(text: str, files: list[str]) -> None:
    assert files_in(text) == files


@pytest.mark.parametrize(
    ("line", "questions", "files"),
    [
        ("cd /x/y && FOO=1 sudo alembic upgrade head", ["alembic upgrade head"], []),
        ("vim deploy/pgbouncer.ini", [], ["deploy/pgbouncer.ini"]),
        ('git commit -m "fix: the thing"', ["git commit"], []),
        ("python -m pytest tests/x/test_y.py -k foo | tail -5", ["pytest foo"], ["tests/x/test_y.py"]),
        ("uv run pytest -q", ["pytest"], []),
        ("python -m pytest", ["pytest"], []),
        ("python -m", [], []),
        ("/usr/bin/alembic upgrade head", ["alembic upgrade head"], []),
        ("deploy.sh prod", ["deploy.sh prod"], []),
        ("git commit -m 'later'", ["git commit"], []),
        ("terraform apply -auto-approve infra/main.tf", ["terraform apply"], ["infra/main.tf"]),
        ("cat > x.py <<EOF\nimport os\nterraform destroy\nEOF\n", [], ["x.py"]),
        ("curl -s https://api.example.com/x.json | jq .", [], []),
        ("./scripts/deploy.sh prod", ["deploy.sh prod"], ["./scripts/deploy.sh"]),
        ("python manage.py migrate --plan", ["manage.py migrate plan"], []),
        ("echo 'terraform destroy' && ls -la", [], []),
        ("watch kubectl get pods", ["kubectl get pods"], []),
    ],
)
def test_a_command_has_a_program_a_subcommand_and_files(
    line: str, questions: list[str], files: list[str]
) -> None:
    found = commands_of(line)
    assert [one.question for one in found if one.question] == questions
    assert [file for one in found for file in one.files] == files


def test_the_first_plain_word_is_the_subcommand() -> None:
    words = ("-C", "../x", "push", "origin")
    assert commands_of("git -C ../x push origin") == [
        Command("git", "push", ("../x",), ("origin",), False, words, ("../x",))
    ]
    line = "git --version; pytest unit; make -C ops deploy; npx -y wrangler@3 deploy"
    assert [one.subcommand for one in commands_of(line)] == ["", "", "deploy", "deploy"]


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("cat ./x.py", ["./x.py"]),
        ("cd app && cat ./x.py ../y.py /z.py > out.txt", ["app/x.py", "y.py", "/z.py", "app/out.txt"]),
        (
            "cd app && git -C lib/net -c a=b add x.tf > out.txt",
            ["app/lib/net", "app/lib/net/x.tf", "app/out.txt"],
        ),
        ("git -c a=b -C lib add x.tf; git commit -C HEAD x.tf", ["lib/x.tf", "x.tf"]),
        ("git push -f x/y.tf -C lib", ["x/y.tf"]),
        ("make deploy -C ops -f deploy.mk", ["ops/deploy.mk"]),
        ("make -C; make -Cx a.mk", ["a.mk"]),
        ("terraform -chdir=infra apply a.tfvars", ["infra/a.tfvars"]),
        ("find lib -name x.py -C a", ["x.py"]),
        ("echo a.lock b/c.tf >> d.txt", ["d.txt"]),
        ("tofu plan -var-file=prod.tfvars --out=x --ratio=1.5", ["prod.tfvars"]),
        ("cd app; cat sub\\x.py", ["app/sub/x.py"]),
    ],
)
def test_paths_are_relative_to_the_folder_in_which_the_line_starts(line: str, paths: list[str]) -> None:
    assert [path for one in commands_of(line) for path in one.paths] == paths


def test_file_names_that_every_project_has_are_common() -> None:
    assert is_common_file("README.md")
    assert not is_common_file("ledger.md")


@given(st.text(max_size=3000))
def test_any_command_line_is_parsed_without_an_error(line: str) -> None:
    commands_of(line)
