/** Many clients that send events, each as soon as its last one was answered, and the account of what became of them. */
import { readPublicId } from '../../src/core/ids.ts'
import { type Client, createClient, type Sent } from './client.ts'

export type Counted = {
  /** emails whose event was answered with 202 */
  acknowledged: string[]
  /** numbers of the same people */
  people: number[]
  /** emails whose event got no answer: it may be stored or not */
  unanswered: string[]
  counts: Record<Sent['is'] | 'other_status', number>
}

export type Load = { counted: Counted; ended: Promise<void>; stop(): void }

type Target = { url: string; key: string; app: string }

/**
 * Each event makes a person of its own, so that what is stored can be counted by email. A client ends when the server
 * is gone, or when it is stopped. Every tenth makes a new connection for each event.
 */
export function startLoad({ url, key, app }: Target, { clients, round }: { clients: number; round: number }): Load {
  const counted: Counted = {
    acknowledged: [],
    people: [],
    unanswered: [],
    counts: { answered: 0, refused: 0, unanswered: 0, cut: 0, other_status: 0 },
  }
  let isStopped = false
  const run = async (number: number): Promise<void> => {
    const client = createClient(url, key)
    for (let count = 0; !isStopped; count++) {
      const email = `r${round}c${number}n${count}@example.com`
      const sent = await sendEvent(client, app, email)
      note(counted, email, sent)
      if (sent.is === 'refused') break
      if (number % 10 === 0) client.close()
    }
    client.close()
  }
  const ended = Promise.all(Array.from({ length: clients }, (_, number) => run(number))).then(() => {})
  return { counted, ended, stop: () => void (isStopped = true) }
}

export const sendEvent = (client: Client, app: string, email: string): Promise<Sent> =>
  client.send('POST /api/v1/events', {
    app,
    email,
    event: 'results_ready',
    createContact: true,
    properties: { headline: `Your results are ready, ${email}` },
  })

function note({ acknowledged, people, unanswered, counts }: Counted, email: string, sent: Sent): void {
  counts[sent.is] += 1
  if (sent.is === 'answered' && sent.status !== 202) counts.other_status += 1
  if (sent.is === 'answered' && sent.status === 202) {
    acknowledged.push(email)
    people.push(...readPeople(sent.body))
  }
  if (sent.is === 'unanswered' || sent.is === 'cut') unanswered.push(email)
}

/** Numbers of the people that an answer names. */
export const readPeople = (answer: string): number[] =>
  Array.from(answer.matchAll(/con_[0-9a-z]{11}/g), ([id]) => readPublicId('con', id) ?? 0)

/** Reads all events back through the API. @returns the emails they are about */
export async function readBack({ url, key, app }: Target): Promise<string[]> {
  const client = createClient(url, key)
  const emails: string[] = []
  let cursor: string | null = null
  do {
    const sent: Sent = await client.send(`GET /api/v1/events?app=${app}&limit=100${cursor ? `&cursor=${cursor}` : ''}`)
    if (sent.is !== 'answered' || sent.status !== 200) throw new Error(`cannot read back: ${JSON.stringify(sent)}`)
    const page = JSON.parse(sent.body) as { data: { email: string }[]; nextCursor: string | null }
    emails.push(...page.data.map(({ email }) => email))
    cursor = page.nextCursor
  } while (cursor !== null)
  client.close()
  return emails
}
