/** How long an event takes while members save and preview costly drafts, against the same service with nothing else to do. */
import { COSTLY_BODIES } from '../costly-drafts.ts'
import { call, eventpostJson, makeFolder, setUp, startServer } from '../cli/process.ts'

/** Milliseconds. */
export type Latency = { p50: number; p99: number; most: number; count: number }
export type Compared = { name: string; idle: Latency; beside: Latency; saved: number }

const EVENTS = 500
const NEXT_MS = 10
const TOGETHER = 2

type Given = { names: string[]; roundMs: number; program?: string[] }

/** Interleaves a round without drafts and one with each of these bodies. */
export async function compareDrafts({ names, roundMs, program }: Given): Promise<Compared[]> {
  const { folder, remove } = makeFolder()
  const how = program ? { program } : {}
  const { appId: app, apiKey } = await setUp(folder)
  const server = await startServer({ ...how, data: folder })
  try {
    const manage = ['key', 'create', '--data', folder, '--name', 'Drafts', '--scope', 'manage']
    const { apiKey: manageKey } = await eventpostJson<{ apiKey: string }>(manage, how)
    const send = async (nth: number): Promise<void> => {
      const event = { app, email: `p${nth % 50}@example.com`, event: 'results_ready', createContact: true }
      const properties = { url: `https://app.example.com/${nth}`, headline: `Result ${nth}` }
      const { status } = await call(server.url, apiKey, 'POST', '/api/v1/events', { ...event, properties })
      if (status !== 202) throw new Error(`an event was answered ${status}`)
    }
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
      return (answer as { result?: { structuredContent?: Record<string, unknown> } }).result?.structuredContent ?? {}
    }

    const compared: Compared[] = []
    for (const name of names) {
      const idle = await measure()
      let [isOver, saved] = [false, 0]
      const work = async (nth: number): Promise<void> => {
        const content = {
          name: `${name} ${nth}`,
          trigger: { event: 'results_ready' },
          mail: { subject: 'Ready', body: COSTLY_BODIES[name] ?? '' },
        }
        let messageId: unknown
        while (!isOver) {
          const again = messageId === undefined ? {} : { messageId }
          messageId = (await useTool('save_message_draft', { app, message: content, ...again })).messageId
          if (typeof messageId !== 'string') throw new Error(`the draft "${name}" cannot be saved`)
          await useTool('preview_message', { app, messageId })
          saved += 1
        }
      }
      const working = Array.from({ length: TOGETHER }, (_, nth) => work(nth))
      const beside = await measure()
      isOver = true
      await Promise.all(working)
      compared.push({ name, idle, beside, saved })
    }
    return compared
  } finally {
    await server.stop()
    remove()
  }
}
