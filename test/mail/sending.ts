import { createApp } from '../../src/accounts/accounts.ts'
import { readSmtpUrl } from '../../src/core/mail-addresses.ts'
import type { DeliveryRow, MailSettings, MessageContent } from '../../src/store/message-types.ts'
import type { Store } from '../../src/store/store.ts'
import type { Dial } from '../../src/mail/dial.ts'
import type { Provider } from '../../src/mail/provider.ts'
import type { SenderDependencies } from '../../src/mail/sender.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { useClosing } from '../closing.ts'
import {
  createTestSender,
  createTestServer,
  EVENTS,
  inTurns,
  LOOPBACK_HOSTS,
  type Options,
  type TestServer,
  useSharedServer,
} from '../helper.ts'
import { isLong } from '../long-form.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { type Behaviour, type MailServer, startMailServer } from './mail-server.ts'

export const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  mail: {
    subject: '{{ event.headline }}',
    body: 'Hello {{ contact.firstName | default: "there" }},\n\n[See your results]({{ event.url }})\n',
  },
}

export const RESULTS = { headline: 'Your results are ready.', url: 'https://first.example/results/1' }

export const MINUTE = 60_000

/** A busy PostgreSQL may not save hundreds of writes in time. */
export const AT_ONCE = isOnPostgres ? 10 : undefined

export type Sending = Awaited<ReturnType<typeof startSending>>

type Mail = Partial<SenderDependencies>

export async function startSending(
  content: Partial<MessageContent> = {},
  behaviour: Behaviour = {},
  mail: Mail = {},
  options: Pick<Options, 'fetchSns'> = {},
) {
  const server = await startMailServer(behaviour)
  return sendFrom(await createTestServer({ ...options, mail: mailOf(server, mail) }), server, content)
}

const mailOf = (server: MailServer, mail: Mail): Mail => ({
  defaults: { smtpUrl: server.url, from: 'Demo <hello@first.example>' },
  privateHosts: LOOPBACK_HOSTS,
  ...mail,
})

async function sendFrom(service: TestServer, server: MailServer, content: Partial<MessageContent>) {
  const { store } = service.parts()
  await service.setPlan({ eventsPerHour: 1e9 })
  const [app] = await store.listApps(service.first.accountId)
  if (!app) throw new Error('the account has no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: service.clock.now() }
  await store.bindSenderDomain({ ...by, domain: 'first.example', proof: 'operator' })
  const name = 'Results ready'
  const draft = { id: null, name, status: 'live' as const, content: { ...CONTENT, ...content } }
  const saved = await store.saveMessages({ ...by, drafts: [draft] })
  if ('refusal' in saved) throw new Error(saved.refusal)

  const sendEvent = async (email: string, properties: object = RESULTS): Promise<void> => {
    const body = { app: app.publicId, email, event: 'results_ready', createContact: true, properties }
    const { status, text } = await service.call('POST', EVENTS, { body })
    if (status !== 202) throw new Error(`${status}: ${text}`)
  }
  const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 10_000 }
  return {
    ...service,
    server,
    app,
    store: () => service.parts().store,
    sendEvent,
    sendEvents: (count: number) => inTurns(count, (index) => sendEvent(`p${index}@example.com`), AT_ONCE),
    sendDue: () => service.sender().sendDue(),
    findPause: async () => service.sender().findPause(app, await service.parts().store.mailSettings(app.id)),
    deliveries: (): Promise<DeliveryRow[]> => service.parts().store.listDeliveries(query),
    async setSettings(settings: Partial<MailSettings>): Promise<void> {
      await service.parts().store.setMailSettings({ ...by, settings })
    },
    async states(): Promise<Record<string, number>> {
      const rows = await service.parts().store.listDeliveries(query)
      const states = Map.groupBy(rows, ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`))
      return Object.fromEntries(Array.from(states, ([state, all]) => [state, all.length]))
    },
    async close(): Promise<void> {
      await service.sender().stop()
      await service.close()
      await server.stop()
    },
  }
}

export function useSending() {
  const keep = useClosing()
  return async (...given: Parameters<typeof startSending>): Promise<Sending> => keep(await startSending(...given))
}

/**
 * As `startSending`, on one server for the tests of a file. Each has an account, a mail server and a sender of its own,
 * which leaves the emails of earlier tests. API calls use the server's own sender. All tests have the same second account.
 */
export function useSharedSending() {
  const keep = useClosing()
  const openServer = useSharedServer({ mail: { privateHosts: LOOPBACK_HOSTS } })
  return async (
    content: Partial<MessageContent> = {},
    behaviour: Behaviour = {},
    mail: Mail = {},
  ): Promise<Sending> => {
    const server = await startMailServer(behaviour)
    const service = await openServer()
    const earlier = await service.parts().store.listDueApps({ now: Number.MAX_SAFE_INTEGER })
    const start = () => {
      const parts = service.parts()
      const store = withoutApps(parts.store, earlier)
      const sender = createTestSender({ store, clock: service.clock }, mailOf(server, mail))
      return { parts: { ...parts, store, mailer: sender }, sender }
    }
    let running = start()
    const own = {
      ...service,
      parts: () => running.parts,
      sender: () => running.sender,
      async restart(): Promise<void> {
        await running.sender.stop()
        await service.restart()
        running = start()
      },
    }
    return keep(await sendFrom(own, server, content))
  }
}

/** For a sender that claims no emails of these apps. */
const withoutApps = (store: Store, appIds: number[]): Store => ({
  ...store,
  listDueApps: async (input) => (await store.listDueApps(input)).filter((appId) => !appIds.includes(appId)),
  claimDeliveries: (input) => store.claimDeliveries({ ...input, skipApps: [...input.skipApps, ...appIds] }),
})

/** Gives up after a few seconds instead of a minute. */
export const impatient = (url: string, dial: Dial): Provider | null => {
  const server = readSmtpUrl(url)
  return server && createSmtpProvider(server, { ...SMTP_LIMITS, greetingMs: 2_000, answerMs: 2_000 }, dial)
}

/** Another account with the same message and its own mail settings. */
export async function startSecond({ store, second, clock, call }: Sending, settings: Partial<MailSettings>) {
  const [app] = await store().listApps(second.accountId)
  if (!app) throw new Error('the other account has no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  await store().bindSenderDomain({ ...by, domain: 'second.example', proof: 'operator' })
  await store().setMailSettings({ ...by, settings: { fromEmail: 'hello@second.example', ...settings } })
  await store().saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: 'live', content: CONTENT }] })
  return async (email: string): Promise<void> => {
    const event = { app: app.publicId, email, event: 'results_ready', createContact: true, properties: RESULTS }
    await call('POST', EVENTS, { key: second.apiKey, body: event })
  }
}

type Added = { name: string; settings?: Partial<MailSettings> }

/** Another app of the first account with the same message. */
export async function addApp({ store, first, clock, call, parts }: Sending, { name, settings = {} }: Added) {
  const by = { store: store(), now: clock.now(), actor: 'test' }
  const made = await createApp(by, first.accountId, { name, domains: [`${name}.example`], home: null })
  const app = (await store().listApps(first.accountId)).find((one) => one.name === name)
  if ('refusal' in made || !app) throw new Error('the app is not there')
  const change = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  const drafts = [{ id: null, name: 'M', status: 'live' as const, content: CONTENT }]
  const saved = [
    await store().setMailSettings({ ...change, settings }),
    await store().saveMessages({ ...change, drafts }),
  ]
  if (saved.some((outcome) => 'refusal' in outcome)) throw new Error('the app has no message')
  parts().access.forget()
  return async (email: string): Promise<void> => {
    const event = { app: app.publicId, email, event: 'results_ready', createContact: true, properties: RESULTS }
    const { status, text } = await call('POST', EVENTS, { body: event })
    if (status !== 202) throw new Error(`${status}: ${text}`)
  }
}

export async function findSecondPause({ store, sender, second }: Sending) {
  const [app] = await store().listApps(second.accountId)
  return app ? sender().findPause(app, await store().mailSettings(app.id)) : undefined
}

/** Of days: a look for due emails takes longer than the time between two. */
export const LONG_STEP = isLong && !isOnPostgres ? MINUTE : 15 * MINUTE

/** Moves the clock step by step and sends what is due. */
export async function live(sending: Sending, ms: number, step = MINUTE): Promise<void> {
  for (let gone = 0; gone < ms; gone += step) {
    sending.clock.tick(step)
    await sending.sendDue()
  }
}

export const countEach = ({ server }: Sending): number[] => Array.from(server.counts().values(), (all) => all.length)
