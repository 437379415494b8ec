#!/usr/bin/env bash
# Checks `engram mcp` with other people's tools: the MCP Inspector (stdio and HTTP) and the conformance suite (HTTP).
# Usage: tools/check_mcp.sh [PYTHON]     It needs npm and the network: both tools and the Node 22 they need come from npm.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
project=$PWD
python=${1:-$project/.venv/bin/python}
versions=(node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16)

folder=$(mktemp -d)
servers=()
finish() {
  if [ ${#servers[@]} -gt 0 ]; then kill "${servers[@]}" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap finish EXIT

printf 'Installing %s\n' "${versions[*]}"
npm install --silent --no-fund --no-audit --prefix "$folder" "${versions[@]}" >"$folder/npm.log" 2>&1 ||
  { cat "$folder/npm.log" >&2; exit 1; }
node=$folder/node_modules/.bin/node
export HOME=$folder/home PYTHONPATH=$project ENGRAM_BACKGROUND=inline ENGRAM_HTTP_TOKEN=a-token-for-this-check-alone
mkdir -p "$HOME" "$folder/store"
"$python" -m engram init "$folder/store" --placement dedicated >"$folder/init.log"
"$python" -m engram record 'Consumers must be idempotent.' -c fact --store "$folder/store" >>"$folder/init.log"

failed=0
step() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$folder/step.log" 2>&1; then
    printf 'ok      %s\n' "$name"
  else
    printf 'FAILED  %s\n' "$name"
    cat "$folder/step.log"
    failed=1
  fi
}

inspect() { "$node" "$folder/node_modules/.bin/mcp-inspector" --cli "$@"; }
everything() { # NAME TARGET...
  local name=$1
  shift
  step "$name: tools/list --strict" inspect "$@" --method tools/list --strict
  step "$name: tools/call recall_status" inspect "$@" --method tools/call --tool-name recall_status
  step "$name: tools/call recall_query" inspect "$@" --method tools/call --tool-name recall_query --tool-arg query=consumers
  step "$name: resources/list" inspect "$@" --method resources/list
  step "$name: resources/templates/list" inspect "$@" --method resources/templates/list
  step "$name: resources/read" inspect "$@" --method resources/read --uri lore://recent
  step "$name: prompts/list" inspect "$@" --method prompts/list
  step "$name: prompts/get" inspect "$@" --method prompts/get --prompt-name recall --prompt-args task=consumers
}

serve() { # LOG COMMAND...: starts a server that says on its first line where it is; sets `url`
  local log=$1
  shift
  "$@" 2>"$log" &
  servers+=($!)
  for _ in $(seq 100); do
    url=$(sed -n 's/^Serving \([^ ]*\).*/\1/p' "$log")
    if [ -n "$url" ]; then return; fi
    sleep 0.1
  done
  cat "$log" >&2
  exit 1
}

everything stdio "$python" -m engram mcp --store "$folder/store"
serve "$folder/http.log" "$python" -m engram mcp --http --port 0 --store "$folder/store"
everything HTTP "$url" --transport http --header "Authorization: Bearer $ENGRAM_HTTP_TOKEN"

# The suite cannot send a token, so it meets the same server without its guard, on the loopback.
serve "$folder/open.log" "$python" tools/open_mcp.py "$folder/store"
# Seventeen of its thirty scenarios call tools, resources (`test://…`) and prompts that only a server made for it has; the
# first three ask for capabilities that a server may leave out, and Engram does: levels of logging, subscriptions.
cat >"$folder/fixtures.yml" <<'END'
server:
  - logging-set-level
  - resources-subscribe
  - resources-unsubscribe
  - tools-call-image
  - tools-call-audio
  - tools-call-embedded-resource
  - tools-call-mixed-content
  - tools-call-with-logging
  - tools-call-with-progress
  - tools-call-sampling
  - tools-call-elicitation
  - elicitation-sep1034-defaults
  - elicitation-sep1330-enums
  - resources-read-text
  - resources-read-binary
  - resources-templates-read
  - prompts-get-simple
  - prompts-get-with-args
  - prompts-get-embedded-resource
  - prompts-get-with-image
END
suite=("$folder/node_modules/.bin/conformance" server --url "$url" --expected-failures "$folder/fixtures.yml")
step 'conformance suite' "$node" "${suite[@]}"
sed -n '/=== SUMMARY/,$p' "$folder/step.log"
exit "$failed"
