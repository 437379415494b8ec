"""OpenCode's plugin: OpenCode has no hooks that run commands, so this small JavaScript module runs ours."""

from __future__ import annotations

import json

from engram.adapters.agents.guides import WRITTEN
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLUGIN = """\
// @WRITTEN@
import { spawn } from "node:child_process"

const COMMAND = @COMMAND@
const AGENT = @AGENT@

// What Engram says to an event; "" where it says nothing, is late, or is not there.
function ask(event, payload, milliseconds) {
  return new Promise((resolve) => {
    let out = ""
    let child
    const end = (text) => { clearTimeout(timer); resolve(text) }
    const timer = setTimeout(() => { try { child.kill() } catch {} ; resolve("") }, milliseconds)
    try {
      child = spawn(COMMAND[0], [...COMMAND.slice(1), event, "--agent", AGENT], { stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => end(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => { out += part })
      child.on("close", () => {
        try { end(JSON.parse(out).additionalContext ?? "") } catch { end("") }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch { end("") }
  })
}

// What the agent said last in a session.
async function lastSaid(client, session) {
  try {
    const { data } = await client.session.messages({ path: { id: session } })
    const last = data.filter(({ info }) => info.role === "assistant").at(-1)
    return last.parts.filter((part) => part.type === "text").map((part) => part.text).join("\\n")
  } catch { return "" }
}

export const Engram = async ({ client, directory }) => {
  const briefs = new Map()
  const waiting = new Map()
  const add = (session, text) => { if (text) waiting.set(session, [...(waiting.get(session) ?? []), text]) }
  let latest = ""
  return {
    "chat.message": async (input, output) => {
      latest = input.sessionID
      const prompt = (output.parts ?? []).map((part) => part.text ?? "").join("\\n")
      if (!briefs.has(latest)) {
        briefs.set(latest, await ask("session-start", { session_id: latest, cwd: directory, source: "startup" }, 5000))
      }
      add(latest, await ask("prompt", { session_id: latest, cwd: directory, prompt }, 1500))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID ?? latest
      const texts = [briefs.get(session), ...(waiting.get(session) ?? [])].filter(Boolean)
      if (texts.length) output.system.push(texts.join("\\n\\n"))
    },
    "tool.execute.after": async (input, output) => {
      const payload = { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_use_id: input.callID }
      payload.tool_input = input.args ?? {}
      const said = String(output.output ?? "").slice(0, 20000)
      payload.tool_response = { output: said, metadata: { exit_code: output.metadata?.exit } }
      add(input.sessionID, await ask("post-tool", payload, 1500))
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const session = event.properties.sessionID
      const payload = { session_id: session, cwd: directory, last_assistant_message: await lastSaid(client, session) }
      add(session, await ask("stop", payload, 3000))
    },
    "experimental.session.compacting": async (input) => {
      waiting.delete(input.sessionID)
      await ask("pre-compact", { session_id: input.sessionID, cwd: directory, trigger: "auto" }, 1500)
    },
    dispose: async () => {
      if (latest) await ask("session-end", { session_id: latest, cwd: directory, reason: "other" }, 1500)
    },
  }
}
"""


def plugin(command: Sequence[str], agent: str) -> str:
    """Return the plugin's text; `command` is the command line of `engram hook`."""
    words = json.dumps(list(command), ensure_ascii=False)
    text = _PLUGIN.replace("@COMMAND@", words).replace("@AGENT@", json.dumps(agent))
    return text.replace("@WRITTEN@", WRITTEN)
