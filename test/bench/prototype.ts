/**
 * How much of the bare server the plain way of a durable write leaves on this machine: an event is parsed, written with
 * its person and two indexes by a thread of its own, and answered after the commit. No keys, no checks, no limits, no
 * headers, no log. The database lies where it is started.
 */
type Event = { email: string; event: string; properties: unknown }

const writer = new Worker(new URL('prototype-writer.ts', import.meta.url).href, { smol: true })
/** Those whose events are on their way, batch by batch. */
let [waiting, answers]: [Event[], ((id: number) => void)[]] = [[], []]
const sent: ((id: number) => void)[][] = []
let isScheduled = false

/** The first batch leaves when nothing is on its way, further ones when they are worth it. */
function flush(): void {
  isScheduled = false
  if (waiting.length === 0 || sent.length > 2 || waiting.length < sent.length * 16) return
  sent.push(answers)
  writer.postMessage(JSON.stringify(waiting))
  ;[waiting, answers] = [[], []]
}

function write(event: Event): Promise<number> {
  return new Promise((resolve) => {
    waiting.push(event)
    answers.push(resolve)
    if (sent.length > 0) return flush()
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  })
}

await new Promise((resolve) => {
  writer.onmessage = resolve
  writer.postMessage({ open: 'prototype.db' })
})
writer.onmessage = ({ data }: MessageEvent<string>) => {
  const ids = JSON.parse(data) as number[]
  const resolvers = sent.shift() ?? []
  flush()
  for (const [index, resolve] of resolvers.entries()) resolve(ids[index] ?? 0)
}

const server = Bun.serve({
  port: Number(process.argv[2] ?? 0),
  hostname: '127.0.0.1',
  async fetch(request) {
    const id = await write((await request.json()) as Event)
    const headers = { 'Content-Type': 'application/json' }
    return new Response(`{"ok":true,"contactId":${id}}`, { status: 202, headers })
  },
})
console.log(`listening on http://127.0.0.1:${server.port}`)
