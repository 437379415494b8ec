#!/bin/sh
# Starts the engram that is installed, else the released one by uvx; where neither is there, says so once a session.
if command -v engram >/dev/null 2>&1; then exec engram "$@"; fi
if command -v uvx >/dev/null 2>&1; then exec uvx --quiet --from 'engram-lore' engram "$@"; fi
missing='Engram is not installed: `uv tool install engram-lore` or `pipx install engram-lore`, then start a new session.'
case "$1 $2" in
  'hook session-start') printf '{"systemMessage": "%s"}\n' "$missing" ;;
  'hook '*) ;;
  *) printf '%s\n' "$missing" >&2; exit 127 ;;
esac
