#!/usr/bin/env bash
# Checks the types for Linux, macOS and Windows side by side: bash tools/check_types.sh .venv/bin/mypy
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
jobs=()
for platform in linux darwin win32; do # each with a cache of its own, or they would throw out one another's
  "$1" --platform "$platform" --cache-dir ".mypy_cache/$platform" 2>&1 | sed "s/^/$platform: /" &
  jobs+=($!)
done
failed=
for job in "${jobs[@]}"; do wait "$job" || failed=yes; done
[ -z "$failed" ]
