"""A command line as a shell reads it: programs that run, and those only mentioned."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.agents.command_line import LONGEST, runs_of


def programs(line: str) -> list[str]:
    return [" ".join(word.text for word in run.words) for run in runs_of(line)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cd app && git push; ls | wc -l", ["cd app", "git push", "ls", "wc -l"]),
        ("git push 2>&1 | tail -5 &", ["git push", "tail -5"]),
        ("git push > out.txt 2> err.txt < in.txt", ["git push"]),
        ("# git push\nls # git push", ["ls"]),
        ("echo 'git push' \"a; git push\" a\\;b", ["echo git push a; git push a;b"]),
        ("cat <<EOF > x.txt\ngit push\nEOF\nls", ["cat", "ls"]),
        ("cat <<-'EOF'\n\tgit push\n\tEOF\nls", ["cat", "ls"]),
        ("grep x <<< 'git push'", ["grep x"]),
        ('git commit -m "$(cat <<\'EOF\'\nit\'s (git push)\nEOF\n)" && ls', ["cat", "git commit -m $()", "ls"]),
        ("echo $(git push) `git pull`", ["git push", "git pull", "echo $() $()"]),
        ('echo "is $(git push)" $((1 + 2)) ${x:-git push}', ["git push", "echo is $() $() ${x:-git push}"]),
        ("(cd x && git push) || exit 1", ["cd x", "git push", "exit 1"]),
        ("for d in a b; do (cd $d; git push); done", ["for d in a b", "cd $d", "git push", "done"]),
        ("if git push; then ls; else pwd; fi", ["git push", "ls", "pwd", "fi"]),
        ("A=1 B='x y' sudo -u me -E nohup timeout -k 5 10s git push", ["git push"]),
        ("env -u X A=1 xargs -n 1 git push", ["git push"]),
        ("uv run --with x alembic upgrade head", ["alembic upgrade head"]),
        ("npx -p prisma prisma migrate", ["prisma migrate"]),
        ("bash -lc 'cd x && git push'", ["bash -lc cd x && git push", "cd x", "git push"]),
        ("bash x.sh -c 'git push'", ["bash x.sh -c git push"]),
        ("ssh -p 22 me@there 'git push'", ["ssh -p 22 me@there git push", "git push"]),
        ("docker compose -f c.yml exec -e A=1 api ls", ["docker compose -f c.yml exec -e A=1 api ls", "ls"]),
        ("kubectl exec -n prod api -- psql -c x", ["kubectl exec -n prod api -- psql -c x", "psql -c x"]),
        ("git push\\\n  origin", ["git push origin"]),
        ("find a -exec rm {} \\; -execdir b.sh {} + -print", [
            "find a -exec rm {} ; -execdir b.sh {} + -print", "rm {}", "b.sh {}",
        ]),
        ("fd -e sh -x sudo sh -c 'git push'", [
            "fd -e sh -x sudo sh -c git push", "sh -c git push", "git push",
        ]),
        ("find . -name -exec", ["find . -name -exec"]),
        ("ls | xargs -0 -n1 -P 2 -I{} git push {}", ["ls", "git push {}"]),
        ("parallel -j 4 'git push {}; ls' ::: a b", [
            "parallel -j 4 git push {}; ls ::: a b", "git push {}", "ls",
        ]),
        ("watch -n 5 'kubectl get x | wc'", ["watch -n 5 kubectl get x | wc", "kubectl get x", "wc"]),
        ("bash -euo pipefail -c 'git push'", ["bash -euo pipefail -c git push", "git push"]),
        ("time -p nice -n 5 nohup stdbuf -oL timeout \"$T\" git push", ["git push"]),
        ("flock -n /tmp/x env A=1 git push", ["git push"]),
        ("aws-vault exec shop -- git push", ["git push"]),
        ("git -C app bisect run uv run pytest -q", ["git -C app bisect run uv run pytest -q", "pytest -q"]),
        ("git bisect start run make", ["git bisect start run make"]),
        ("infisical run --env=prod -- git push", ["git push"]),
        ("nix develop .#ci -c git push", ["nix develop .#ci -c git push", "git push"]),
        ("nix-shell -p git --run 'cd a && git push'", [
            "nix-shell -p git --run cd a && git push", "cd a", "git push",
        ]),
        ("uv --directory x run pytest", ["pytest"]),
        ("pnpm --filter a exec prisma migrate", ["prisma migrate"]),
        ("direnv exec . git push; direnv allow", ["git push", "direnv allow"]),
        ("python3 -W ignore -Im coverage run -m pytest x", ["pytest x"]),
        ("python x.py -m pytest; python -c 1 -m x", ["python x.py -m pytest", "python -c 1 -m x"]),
        ("python -m; sudo -E -- git push", ["python -m", "git push"]),
        ("command -v git && command git push", ["command -v git", "git push"]),
        ("'unclosed git push", ["unclosed git push"]),
        ("$(((", ["$()"]),
    ],
)  # fmt: skip
def test_programs_that_run_are_told_from_those_only_mentioned(line: str, found: list[str]) -> None:
    assert programs(line) == found


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("ls && cd a/b && ls; cd ../c; ls", ["", "", "a/b", "a/b", "a/b/../c"]),
        ("(cd a && ls); ls $(cd b; ls)", ["", "a", "", "b", ""]),
        ("pushd a; pushd b; popd; ls; popd; ls", ["", "a", "a/b", "a", "a", ""]),
        ("popd; ls", ["", ""]),
        ("cd a; cd -; ls; cd - ; ls", ["", "a", "", "", "a"]),
        ("cd -P -- /a; ls; cd; ls; cd ~/b; ls", ["", "/a", "/a", "~", "~", "~/b"]),
        ("for d in */; do cd $d; ls; done", ["", "", "$d", "$d"]),
        ('cd "$(git rev-parse --show-toplevel)/a" && ls', ["", "", "./a"]),
        ("cd a; bash -c 'cd b; ls'; find . -exec ls \\;", ["", "a", "a", "a/b", "a", "a"]),
        ("echo cd a; 'cd a'; ls", ["", "", ""]),
    ],
)
def test_a_program_runs_in_the_folder_of_the_last_cd(line: str, folders: list[str]) -> None:
    assert [run.folder for run in runs_of(line)] == folders


def test_targets_of_redirections_are_listed() -> None:
    assert [run.redirected for run in runs_of("cat a > b.txt 2>&1; > c.txt")] == [("b.txt",), ("c.txt",)]


@given(st.text(alphabet="ab $`'\"\\()<>|&;#\n-{}=E", max_size=120))
def test_any_line_is_parsed_without_an_error(line: str) -> None:
    runs_of(line)


@pytest.mark.parametrize(
    "piece",
    [
        "$(",
        "`",
        "(",
        '"$(',
        "<<E\n",
        "a=$((",
        "bash -c '",
        "'",
        "\\",
        "x;",
        "cd a;",
        "pushd a;",
        "find -exec ",
        "parallel ",
        "xargs ",
    ],
)
def test_a_long_repetitive_line_is_parsed_in_time(piece: str) -> None:
    began = time.process_time()
    runs_of(piece * (LONGEST // len(piece)))
    assert time.process_time() - began < 1.0
