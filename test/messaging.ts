/** Messages of a test server, and a sender without a mail server: due deliveries are claimed, decided and marked. */
import { saveMessage, type SavedMessage } from '../src/messages/messages.ts'
import { isRefusal } from '../src/core/refusals.ts'
import type { DecisionRecord } from '../src/store/decision-records.ts'
import type { DeliveryRow, DeliveryWork, MailSettings, MessageContent } from '../src/store/message-types.ts'
import { appOf, here, leave, page, report, send, track } from './api/reports.ts'
import { MINUTE } from './durations.ts'
import { createTestSenders, EVENTS, TEMPLATES, type TestServer } from './helper.ts'

export { MINUTE } from './durations.ts'
export const ADA = 'ada@example.com'
export const RESULT = { url: 'https://first.example/results/1', headline: 'Your 12 pictures are ready' }

/** A message on results_ready that says nothing of conditions. */
export const messageOf = (changes: Partial<MessageContent & { name: string }> = {}) => ({
  name: 'A message',
  status: 'live',
  trigger: { event: 'results_ready' },
  mail: { subject: 'Ready', body: 'Hello' },
  ...changes,
})

const MOST_CLAIMED = 50

export type Decided = { email: string; name: string; verdict: 'send' | 'skip' | 'wait'; reason: string | null }
export type Messaging = Awaited<ReturnType<typeof createMessaging>>

export async function createMessaging(server: TestServer) {
  const app = await appOf(server)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  const store = () => server.parts().store
  const context = () => {
    const { mailer } = server.parts()
    return {
      store: store(),
      mailer,
      templates: TEMPLATES,
      app,
      senders: createTestSenders({ store: store(), clock: server.clock }),
    }
  }

  /** Those that other tests of a shared server left due stay. */
  const claim = async (most: number, claimedBy = 'test'): Promise<DeliveryWork[]> => {
    const now = server.clock.now()
    const skipApps = (await store().listDueApps({ now })).filter((id) => id !== app.id)
    const claimed = await store().claimDeliveries({ claimedBy, now, leaseMs: MINUTE, most, skipApps })
    if (isRefusal(claimed)) throw new Error(claimed.refusal)
    return claimed.works
  }

  /** As the sender does: more at once may take a busy PostgreSQL too long. */
  const claimDue = async (): Promise<DeliveryWork[]> => {
    const works: DeliveryWork[] = []
    for (;;) {
      const claimed = await claim(MOST_CLAIMED)
      works.push(...claimed)
      if (claimed.length < MOST_CLAIMED) return works
    }
  }

  const mark = async (work: DeliveryWork): Promise<Decided> => {
    const [at, { delivery }] = [server.clock.now(), work]
    const decided = await store().decideDelivery(work, at)
    const claim = { id: delivery.id, claimedBy: 'test', attempt: delivery.attempt, at }
    const record = JSON.stringify(decided.record)
    if (decided.unfit.length > 0) await store().dropJoined({ ...claim, unfit: decided.unfit })
    const result = { email: work.contact.email, name: work.message.name, verdict: decided.outcome }
    if (decided.outcome === 'send') {
      const handed = await store().markHanded({ ...claim, record, basis: decided.basis })
      if (isRefusal(handed)) throw new Error(handed.refusal)
      if (!handed.isMarked) return { ...result, verdict: 'skip', reason: handed.because }
      await store().markSent(claim)
      return { ...result, reason: null }
    }
    if (decided.outcome === 'skip') {
      const { reason, isOfEvent } = decided
      await store().markSkipped({ ...claim, reason, record, isOfEvent })
    } else await store().markDeferred({ ...claim, reason: decided.reason, dueAt: decided.dueAt, record })
    return { ...result, reason: decided.reason }
  }

  return {
    app,
    by,
    store,
    context,
    async put(value: object, id: number | null = null): Promise<SavedMessage> {
      const saved = await saveMessage(context(), { ...by, at: server.clock.now() }, { id, value })
      if (isRefusal(saved)) throw new Error(`${saved.refusal}: ${JSON.stringify(saved)}`)
      return saved
    },
    set: (settings: Partial<MailSettings>) => store().setMailSettings({ ...by, settings }),
    event: (changes: Record<string, unknown> = {}) =>
      server.call('POST', EVENTS, {
        body: {
          app: server.first.appId,
          email: ADA,
          event: 'results_ready',
          createContact: true,
          properties: RESULT,
          ...changes,
        },
      }),
    /** What the browser script sends of one page load. */
    browse: async (load: string, ...events: object[]): Promise<void> => {
      const answer = await send(server, report(server.first, { id: `${load}.${crypto.randomUUID()}`, events }))
      if (answer.status !== 202) throw new Error(answer.text)
    },
    async claimOne(claimedBy?: string): Promise<DeliveryWork> {
      const [work] = await claim(1, claimedBy)
      if (!work) throw new Error('nothing is due')
      return work
    },
    /** What is due now, result. */
    async decide(): Promise<Decided[]> {
      const works = await claimDue()
      const result: Decided[] = []
      for (const work of works) result.push(await mark(work))
      return result
    },
    /** All deliveries of the app, oldest first. */
    async deliveries(): Promise<DeliveryRow[]> {
      const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 10_000 }
      return (await store().listDeliveries(query)).reverse()
    },
  }
}

export { here, leave, page, track }

/** The record of a delivery as rule, value and verdict. */
export const recordOf = ({ record }: DeliveryRow): DecisionRecord => JSON.parse(record ?? '{"at":0,"verdicts":[]}')

/** Why each was kept back, or that it was sent. */
export const verdictsOf = (result: Decided[]): string[] => result.map(({ verdict, reason }) => reason ?? verdict)
