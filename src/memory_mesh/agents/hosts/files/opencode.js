// OpenCode's plugin: gives its hooks to memory-mesh-hook and its model the MCP tools.
// Written by `memory-mesh init --host opencode`; `--undo` takes it out.
import { spawn, spawnSync } from "node:child_process"

const HOOK = "memory-mesh-hook"
const SERVER = "memory-mesh-mcp"
const SETTINGS = {}
const MOST_MS = 3000 // the hook itself ends after 300 ms; nothing is waited for longer than this

const started = new Set() // sessions that began here, or forgot what they were given
const answers = new Map() // the last text of each session's assistant

const call = (event) => [HOOK, ["--host", "opencode", event], { env: { ...process.env, ...SETTINGS } }]

// What the prompt should know, or nothing: whatever goes wrong, the prompt goes on.
const asked = (event, given) =>
  new Promise((done) => {
    const [command, words, options] = call(event)
    const hook = spawn(command, words, { ...options, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => { // "close" waits for whoever still has its output, too
      hook.kill("SIGKILL")
      hook.stdout.destroy()
      done({})
    }, MOST_MS)
    let said = ""
    hook.stdout.on("data", (part) => (said += part))
    hook.on("error", () => done({}))
    hook.on("close", () => {
      clearTimeout(timer)
      try {
        done(JSON.parse(said))
      } catch {
        done({})
      }
    })
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(given))
  })

// What is learned from; OpenCode may end right after, so this waits until the hook has read it.
const told = (event, given) => {
  const [command, words, options] = call(event)
  spawnSync(command, words, { ...options, input: JSON.stringify(given), stdio: ["pipe", "ignore", "ignore"], timeout: MOST_MS, killSignal: "SIGKILL" })
}

export const MemoryMesh = async ({ client, directory }) => ({
  config: async (config) => {
    config.mcp ??= {}
    config.mcp["memory-mesh"] ??= { type: "local", command: [SERVER, "--host", "opencode"], environment: SETTINGS, enabled: true }
  },

  event: async ({ event }) => {
    const { sessionID, info, part } = event.properties ?? {}
    const session = sessionID ?? info?.id
    if (event.type === "session.created" && !info?.parentID) started.add(session)
    if (event.type === "session.compacted") started.add(session)
    if (event.type === "message.part.updated" && part?.type === "text" && part.time?.end) answers.set(part.sessionID, part.text)
    if (event.type !== "session.idle" && event.type !== "session.deleted") return
    told(event.type, { ...event, directory, last_assistant_message: answers.get(session) ?? "" })
    answers.delete(session)
  },

  "chat.message": async ({ sessionID }, { message, parts }) => {
    const typed = parts.filter((part) => part.type === "text" && !part.synthetic)
    if (!typed.length) return
    const given = { session_id: sessionID, cwd: directory, prompt: typed.map((part) => part.text).join("\n") }
    const said = []
    if (started.delete(sessionID)) said.push(await asked("SessionStart", { ...given, source: "startup" }))
    said.push(await asked("UserPromptSubmit", given))
    said.forEach(({ hookSpecificOutput, systemMessage }, at) => {
      const text = hookSpecificOutput?.additionalContext
      const id = `${typed[0].id}_memory_${at}`
      if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      if (systemMessage) client.tui?.showToast({ body: { message: systemMessage, variant: "info" } })?.catch?.(() => {})
    })
  },

  "tool.execute.after": async ({ tool, sessionID, args }, { output, metadata }) => {
    if (tool !== "bash" || !metadata?.exit) return
    asked("PostToolUseFailure", { session_id: sessionID, cwd: directory, tool_name: "Bash", tool_input: args, error: output })
  },
})
