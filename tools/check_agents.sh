#!/usr/bin/env bash
# Checks what `engram connect` writes with the agents themselves: Claude Code, Codex, Gemini CLI, OpenCode, Copilot CLI, OpenClaw.
# Usage: tools/check_agents.sh [PYTHON] [AGENT...]     It needs npm and the network, but no account: a program in the
# place of the language model answers them. AGENTS_FOLDER says where they are installed already, or shall be.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
project=$PWD
python=${1:-$project/.venv/bin/python}
if [ $# -gt 0 ]; then shift; fi
versions=(node@22 @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @github/copilot openclaw)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
agents=${AGENTS_FOLDER:-$folder/agents}
if [ ! -d "$agents/node_modules" ]; then
  printf 'Installing %s\n' "${versions[*]}"
  mkdir -p "$agents"
  npm install --silent --no-fund --no-audit --prefix "$agents" "${versions[@]}" >"$folder/npm.log" 2>&1 ||
    { cat "$folder/npm.log" >&2; exit 1; }
fi
PATH=$agents/node_modules/.bin:$PATH PYTHONPATH=$project exec "$python" tools/agent_sessions.py "$folder/home" "$@"
