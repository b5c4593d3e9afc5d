/** How long an event takes while members save and preview costly drafts, against the same service with nothing else to do. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COSTLY_BODIES } from '../costly-drafts.ts'
import { call, eventpost, eventpostJson, makeFolder, setUp, startServer } from '../cli/process.ts'

/** Milliseconds. */
export type Latency = { p50: number; p99: number; most: number; count: number }
/** `done`: how often such a draft was saved and previewed meanwhile. */
export type Compared = { name: string; idle: Latency; beside: Latency; done: number }

const EVENTS = 500
const NEXT_MS = 10
const TOGETHER = 2
/** The MCP server takes messages of 64 KB; a longer body is imported, and then only previewed. */
const SAVED_BYTES = 60_000
const CALLS_A_MINUTE = 1_000_000

/** Bodies that an editor cannot save are left out. */
type Given = { names: string[]; roundMs: number; program?: string[] }

/** Interleaves a round without drafts and one with each of these bodies. */
export async function compareDrafts({ names, roundMs, program }: Given): Promise<Compared[]> {
  // on a disk, as in life
  const { folder, remove } = makeFolder(tmpdir())
  const how = program ? { program } : {}
  const { appId: app, apiKey } = await setUp(folder)
  const server = await startServer({ ...how, data: folder, timeoutMs: 0 })
  try {
    const manage = ['key', 'create', '--data', folder, '--name', 'Drafts', '--scope', 'manage']
    const { apiKey: manageKey } = await eventpostJson<{ apiKey: string }>(manage, how)
    const send = async (nth: number): Promise<void> => {
      const event = { app, email: `p${nth % 50}@example.com`, event: 'results_ready', createContact: true }
      const properties = { url: `https://app.example.com/${nth}`, headline: `Result ${nth}` }
      const { status } = await call(server.url, apiKey, 'POST', '/api/v1/events', { ...event, properties })
      if (status !== 202) throw new Error(`an event was answered ${status}`)
    }
    await eventpostJson(['plan', 'set', '--data', folder, '--mcp-calls-per-minute', String(CALLS_A_MINUTE)], how)
    for (let nth = 0; nth < EVENTS; nth += 1) await send(nth)

    const measure = async (): Promise<Latency> => {
      const times: number[] = []
      const until = performance.now() + roundMs
      while (performance.now() < until) {
        const startedAt = performance.now()
        await send(times.length)
        times.push(performance.now() - startedAt)
        await Bun.sleep(NEXT_MS)
      }
      const sorted = times.toSorted((a, b) => a - b)
      const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
      return { p50: at(0.5), p99: at(0.99), most: at(1), count: times.length }
    }

    const useTool = async (name: string, args: object): Promise<Record<string, unknown>> => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
      const { body: answer } = await call(server.url, manageKey, 'POST', '/mcp', body)
      const { result } = answer as { result?: { structuredContent?: Record<string, unknown> } }
      if (!result?.structuredContent) throw new Error(`${name}: ${JSON.stringify(answer)}`)
      return result.structuredContent
    }

    const toMessage = (name: string, nth: number) => ({
      name: `Costly ${nth}`,
      trigger: { event: 'results_ready' },
      mail: { subject: 'Ready', body: COSTLY_BODIES[name] ?? '' },
    })
    /** The IDs of drafts with this body, one for each member; none where an editor cannot save it. */
    const saveDrafts = async (name: string): Promise<string[]> => {
      const file = join(folder, 'drafts.json')
      const drafts = Array.from({ length: TOGETHER }, (_, nth) => toMessage(name, nth))
      await Bun.write(file, JSON.stringify(drafts))
      const { code } = await eventpost(['message', 'import', file, '--data', folder, '--app', app], how)
      if (code !== 0) return []
      const { data } = (await useTool('list_messages', { app })) as { data: { id: string; name: string }[] }
      return drafts.flatMap((draft) => data.filter((one) => one.name === draft.name).map(({ id }) => id))
    }

    const compared: Compared[] = []
    for (const name of names) {
      const ids = await saveDrafts(name)
      if (ids.length === 0) continue
      const idle = await measure()
      let [isOver, done] = [false, 0]
      const work = async (messageId: string, nth: number): Promise<void> => {
        const message = toMessage(name, nth)
        const isSaved = JSON.stringify(message).length < SAVED_BYTES
        while (!isOver) {
          if (isSaved) {
            const { updatedAt: basedOn } = await useTool('get_message', { app, messageId })
            await useTool('save_message_draft', { app, message, messageId, basedOn })
          }
          await useTool('preview_message', { app, messageId })
          done += 1
        }
      }
      const working = ids.map(work)
      const beside = await measure()
      isOver = true
      await Promise.all(working)
      compared.push({ name, idle, beside, done })
    }
    return compared
  } finally {
    await server.stop()
    remove()
  }
}
