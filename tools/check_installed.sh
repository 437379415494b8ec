#!/usr/bin/env bash
# Installs a package of Engram in a clean environment and tries it: tools/check_installed.sh PYTHON FILE.
set -euo pipefail
python=$1 file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
wanted=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../engram/version.py")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home ENGRAM_BACKGROUND=inline
mkdir "$HOME" "$work/repository"
"$python" -m venv "$work/venv"
bin=$work/venv/bin
if [ -d "$work/venv/Scripts" ]; then bin=$work/venv/Scripts; fi
"$bin/python" -m pip install --quiet --disable-pip-version-check "$file"
"$bin/python" -m pip check
[ "$("$bin/engram" --version)" = "engram $wanted" ]
"$bin/python" -c 'import engram, engram_tui'
cd "$work/repository"
git init --quiet
"$bin/engram" init --yes >/dev/null
"$bin/engram" record 'Queue consumers must be idempotent: redelivery happens after a missed ack.' --category fact >/dev/null
"$bin/engram-lore" query 'why are consumers idempotent' | grep -q 'Queue consumers must be idempotent'
printf '%s works with %s\n' "$(basename "$file")" "$("$python" --version)"
