#!/usr/bin/env bash
# Checks `engram serve` with schemathesis: requests made from its OpenAPI document, of which none may be answered 5xx.
# Usage: tools/check_http.sh [PYTHON] [EXAMPLES]     It needs the network: schemathesis goes into an environment of its own.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
project=$PWD
python=${1:-$project/.venv/bin/python}
examples=${2:-100}
version=4.32.5

folder=$(mktemp -d)
server=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap finish EXIT

schemathesis=${SCHEMATHESIS:-}
if [ -z "$schemathesis" ]; then
  printf 'Installing schemathesis %s\n' "$version"
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/pip" --quiet --disable-pip-version-check install "schemathesis==$version"
  schemathesis=$folder/venv/bin/schemathesis
fi

export HOME=$folder/home PYTHONPATH=$project ENGRAM_BACKGROUND=inline ENGRAM_HTTP_TOKEN=a-token-for-this-check-alone
mkdir -p "$HOME" "$folder/store"
"$python" -m engram init "$folder/store" --placement dedicated >"$folder/init.log"
"$python" -m engram record 'Consumers must be idempotent.' -c fact --store "$folder/store" >>"$folder/init.log"
"$python" -m engram serve --port 0 --rate 0 --store "$folder/store" 2>"$folder/serve.log" &
server=$!
for _ in $(seq 100); do
  url=$(sed -n 's/^Serving \([^ ]*\).*/\1/p' "$folder/serve.log")
  if [ -n "$url" ]; then break; fi
  sleep 0.1
done
if [ -z "$url" ]; then cat "$folder/serve.log" >&2; exit 1; fi

cd "$folder"
failed=0
"$schemathesis" run "$url/openapi.json" --header "Authorization: Bearer $ENGRAM_HTTP_TOKEN" --max-examples "$examples" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
  --phases examples,coverage,fuzzing --no-color --generation-deterministic || failed=1
if ! kill -0 "$server" 2>/dev/null; then printf 'The server is gone.\n'; failed=1; fi
if grep '^engram serve: [A-Za-z]*Error' "$folder/serve.log"; then failed=1; fi
exit "$failed"
