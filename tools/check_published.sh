#!/usr/bin/env bash
# Validates what others find Engram by, each with its own tool: the site, the plugin, the registry's entry, the action, the hook, and
# the package in a clean environment of each Python named: tools/check_published.sh [PYTHON...]. Needs the network for the tools.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
bin=$work/tools/bin
"$bin/python" -m pip install --quiet build check-jsonschema pre-commit skillsaw twine 'zensical>=0.0.70,<0.1'

echo "== plugin, skill, registry entry"
"$bin/skillsaw" lint --strict . # holds the registry's schema of server.json
if command -v claude >/dev/null; then claude plugin validate --strict . && claude plugin validate --strict .claude-plugin/engram; fi
echo "== action, workflows, pre-commit hook"
"$bin/check-jsonschema" --builtin-schema vendor.github-actions action.yml
"$bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml docs/examples/check-lore.yml
"$bin/pre-commit" validate-manifest .pre-commit-hooks.yaml
echo "== site"
"$bin/python" tools/build_site.py "$work/site"
echo "== package"
"$bin/python" -m build --quiet --outdir "$work/dist" .
"$bin/twine" check --strict "$work"/dist/*
size=$(wc -c <"$(ls "$work"/dist/*.whl)")
echo "The wheel has $size bytes."
[ "$size" -le 10485760 ] || { echo "It may have 10 MiB." >&2; exit 1; }
for python in "${@:-python3}"; do
  for file in "$work"/dist/*.whl "$work"/dist/*.tar.gz; do
    bash tools/check_installed.sh "$python" "$file"
  done
done
