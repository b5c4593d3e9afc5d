/** Clients that send each event until it is acknowledged, and note which were, and when something failed. */

export type Ledger = {
  /** numbers of events that were answered with 2xx */
  acknowledged: Set<number>
  /** when attempts failed (ms, monotonic) */
  failedAt: number[]
  /** answers by status; 0: none */
  statuses: Map<number, number>
}

const CLIENTS = 24
const WAIT_MS = 25
const ANSWER_MS = 15_000

/** `first`: the number of the first event. */
export function startLoad(
  url: string,
  { apiKey, appId }: { apiKey: string; appId: string },
  { event, first }: { event: string; first: number },
) {
  const ledger: Ledger = { acknowledged: new Set(), failedAt: [], statuses: new Map() }
  let [next, isOver] = [first, false]

  const send = async (number: number): Promise<boolean> => {
    const body = {
      app: appId,
      email: `p${number}@example.com`,
      event,
      createContact: true,
      properties: { number },
    }
    const startedAt = performance.now()
    const status = await fetch(`${url}/api/v1/events`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': `event-${number}`,
        Connection: 'close',
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 0,
    )
    ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1)
    if (status >= 200 && status < 300) return true
    if (status >= 400 && status < 500 && status !== 409) throw new Error(`event ${number} was refused with ${status}`)
    // when it began: an answer may take long because of what was broken then
    ledger.failedAt.push(startedAt)
    return false
  }

  const work = async (): Promise<void> => {
    while (!isOver) {
      const number = next++
      for (;;) {
        if (await send(number)) {
          ledger.acknowledged.add(number)
          break
        }
        if (isOver) return
        await Bun.sleep(WAIT_MS)
      }
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, work))
  return {
    ledger,
    async stop(): Promise<Ledger> {
      isOver = true
      await running
      return ledger
    },
  }
}

const SENDERS = 4

/** Clients that send events of a few people to the instances, in turn. `stop`: the longest time without an accepted one (ms). */
export function startSenders(
  urls: readonly string[],
  { apiKey, appId, host }: { apiKey: string; appId: string; host: string },
) {
  let [isOver, turn, lastMs, gapMs] = [false, 0, performance.now(), 0]
  const send = async (email: string): Promise<boolean> => {
    const response = await fetch(`${urls[turn++ % urls.length]}/api/v1/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', Host: host },
      body: JSON.stringify({ app: appId, email, event: 'seen', createContact: true }),
      signal: AbortSignal.timeout(ANSWER_MS),
    }).catch(() => null)
    await response?.arrayBuffer().catch(() => {})
    return response?.ok ?? false
  }
  const noteGap = (): void => void (gapMs = Math.max(gapMs, performance.now() - lastMs))
  const work = async (index: number): Promise<void> => {
    for (let time = 0; !isOver; time += 1) {
      if (await send(`sender${index}.${time % 20}@example.com`)) {
        noteGap()
        lastMs = performance.now()
      }
      await Bun.sleep(WAIT_MS)
    }
  }
  const running = Promise.all(Array.from({ length: SENDERS }, (_, index) => work(index)))
  return {
    async stop(): Promise<number> {
      noteGap()
      isOver = true
      await running
      return gapMs
    },
  }
}

/** How often each number from `first` on is in the database. */
export async function readStored(url: string, first: number): Promise<Map<number, number>> {
  const sql = new Bun.SQL(url, { max: 1 })
  try {
    const rows: { number: string; count: string }[] = await sql`
      SELECT properties::json ->> 'number' AS number, count(*) AS count FROM events WHERE properties IS NOT NULL GROUP BY 1`
    return new Map(
      rows.map(({ number, count }) => [Number(number), Number(count)] as const).filter(([number]) => number >= first),
    )
  } finally {
    await sql.close()
  }
}
