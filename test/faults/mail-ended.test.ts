/**
 * Messages that are paused and people who unsubscribe at any moment while emails go out: after the answer no final dot
 * reaches the mail server.
 */
import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { unsubscribeUrl } from '../../src/people/unsubscribe.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import { type Begun, call, eventpost, makeFolder, setUp, startServer } from '../cli/process.ts'
import { inTurns } from '../helper.ts'
import { type Doing, startMailServer } from '../mail/mail-server.ts'

const PEOPLE = Number(process.env.ENDED_PEOPLE ?? 150)
const ROUNDS = Number(process.env.ENDED_ROUNDS ?? 4)
const TEST_MS = 120_000

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const contentOf = (event: string): MessageContent => ({
  trigger: { event },
  again: { once: 'property', property: 'round' },
  mail: { subject: event, body: 'Hello' },
})

const random = (most: number): number => Math.floor(Math.random() * most)

/** Takes a while for each answer, and notes when each final dot came. */
async function startSink() {
  const dots: { to: string; subject: string; at: number }[] = []
  const slowly = async (): Promise<Doing> => {
    await Bun.sleep(random(60))
    return 'accept'
  }
  const server = await startMailServer({
    dot: async (to, raw) => {
      dots.push({ to, subject: /^Subject: (.*)\r$/m.exec(raw)?.[1] ?? '', at: performance.now() })
      return slowly()
    },
  })
  closing.push(server.stop)
  return { url: server.url, dots }
}

async function prepare(folder: string, events: string[]): Promise<string> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  if (!app) throw new Error('there is no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: Date.now() }
  const drafts = events.map((event) => ({ id: null, name: event, status: 'live' as const, content: contentOf(event) }))
  await store.saveMessages({ ...by, drafts })
  const settings = { fromEmail: 'hello@example.com', perSecond: 10_000, perPersonDay: null }
  await store.setMailSettings({ ...by, settings })
  await store.close()
  return app.publicId
}

/** The link in the emails of each person, by address. */
async function listLinks(folder: string, url: string): Promise<Map<string, string>> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  const key = (await store.installValue('unsubscribe_key')) ?? ''
  const links = new Map<string, string>()
  for (let person = 0; person < PEOPLE; person += 1) {
    const contact = await store.findContact(app?.id ?? 0, emailOf(person))
    links.set(emailOf(person), unsubscribeUrl(url, key, { contactId: contact?.id ?? 0, topicId: null }))
  }
  await store.close()
  return links
}

const emailOf = (person: number): string => `p${person}@example.com`

type Target = { url: string; begun: Begun; folder: string }

const sendEvents = ({ url, begun }: Target, event: string, round: number) =>
  inTurns(PEOPLE, (person) =>
    call(url, begun.apiKey, 'POST', '/api/v1/events', {
      app: begun.appId,
      email: emailOf(person),
      event,
      properties: { round },
    }),
  )

/** Beside the server, as from a script. @returns when the command had ended */
async function pauseByCommand({ folder, begun }: Target, event: string): Promise<number> {
  const file = join(folder, `${event}.json`)
  await Bun.write(file, JSON.stringify([{ name: event, status: 'paused', ...contentOf(event) }]))
  const { code, err } = await eventpost(['message', 'import', file, '--data', folder, '--app', begun.appId])
  if (code !== 0) throw new Error(err)
  return performance.now()
}

async function pauseByTool({ url }: Target, key: string, { app, messageId }: { app: string; messageId: string }) {
  const args = { app, messageId, status: 'paused' }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'set_message_status', arguments: args } }
  const answer = await call(url, key, 'POST', '/mcp', body)
  const at = performance.now()
  if (!JSON.stringify(answer.body).includes('paused')) throw new Error(JSON.stringify(answer.body))
  return at
}

test(
  'no email is handed over after the answer',
  async () => {
    const { folder, remove } = makeFolder()
    closing.push(remove)
    const begun = await setUp(folder)
    const events = Array.from({ length: ROUNDS }, (_, round) => `event_${round}`)
    const app = await prepare(folder, events)
    const sink = await startSink()
    const service = await startServer({ data: folder, env: { EVENTPOST_SMTP_URL: sink.url } })
    closing.push(() => service.stop())
    const made = await eventpost(['key', 'create', '--data', folder, '--name', 'M', '--scope', 'manage', '--json'])
    const { apiKey: manage } = JSON.parse(made.out) as { apiKey: string }
    const target = { url: service.url, begun, folder }
    await inTurns(PEOPLE, (person) =>
      call(service.url, begun.apiKey, 'POST', '/api/v1/contacts', { newsletter: app, email: emailOf(person) }),
    )
    const links = await listLinks(folder, service.url)
    const messages = await listMessages(target, manage, app)

    const paused = new Map<string, number>()
    const unsubscribed = new Map<string, number>()
    const late: unknown[] = []
    for (const [round, event] of events.entries()) {
      const sending = sendEvents(target, event, round)
      const before = sink.dots.length
      while (sink.dots.length < before + 5) await Bun.sleep(5)
      const leaving = Array.from({ length: 10 }, async () => {
        await Bun.sleep(random(400))
        const [email, link] = [...links][random(links.size)] ?? ['', '']
        const { status } = await fetch(link, { method: 'POST' })
        if (status !== 200) throw new Error(`${status}`)
        if (!unsubscribed.has(email)) unsubscribed.set(email, performance.now())
      })
      await Bun.sleep(random(400))
      const messageId = messages.get(event) ?? ''
      const at =
        round % 2 === 0 ? await pauseByTool(target, manage, { app, messageId }) : await pauseByCommand(target, event)
      paused.set(event, at)
      await Promise.all([sending, ...leaving])
      // what would still come
      await Bun.sleep(1_500)
    }
    for (const { to, subject, at } of sink.dots) {
      const ends = [paused.get(subject), unsubscribed.get(to)].filter((end) => end !== undefined)
      if (ends.some((end) => at > end)) late.push({ to, subject, ms: at - Math.min(...ends) })
    }
    expect(late).toEqual([])
    expect(unsubscribed.size).toBeGreaterThan(ROUNDS)
    // each pause came while emails went out
    for (const event of events) {
      const count = sink.dots.filter(({ subject }) => subject === event).length
      expect(count).toBeWithin(5, PEOPLE)
    }
  },
  TEST_MS,
)

async function listMessages({ url }: Target, key: string, app: string): Promise<Map<string, string>> {
  const params = { name: 'list_messages', arguments: { app } }
  const { body } = await call(url, key, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const { result } = body as { result?: { content: { text: string }[] } }
  const { data } = JSON.parse(result?.content[0]?.text ?? '{}') as { data: { id: string; name: string }[] }
  return new Map(data.map(({ id, name }) => [name, id]))
}
