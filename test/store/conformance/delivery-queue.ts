import type { Claim, DeliveryRow, DeliveryState, MessageContent } from '../../../src/store/message-types.ts'
import { AT, done, eventWrite, type Fresh, HOUR, newAccount } from '../samples.ts'

export const MINUTE = 60_000
export const RECORD = '{"at":0,"verdicts":[]}'

/** What is written beside a delivery whose email is kept. */
export const CAPTURED = {
  raw: 'Subject: ü\r\n\r\n',
  content: { from: 'Demo <hello@example.com>', to: 'ada@example.com', subject: 'ü', html: '<p>ü</p>', text: 'ü' },
}

/** Apps with deliveries that wait, and what the sender asks of them. Each test has an app of its own. */
export function createQueue(store: Fresh) {
  let apps = 0
  /** An app with a live message on results_ready. */
  const createApp = async (changes: Partial<MessageContent> = {}) => {
    apps += 1
    const [number, accountId] = [1_000 + apps, `acc_${1_000 + apps}`]
    done(await store().createAccount(newAccount(number)))
    const [app] = await store().listApps(accountId)
    const by = { accountId, appId: app?.id ?? 0, actor: 'test', at: AT }
    const content: MessageContent = {
      trigger: { event: 'results_ready' },
      again: { once: 'property', property: 'n' },
      mail: { subject: 'S', body: 'B' },
      ...changes,
    }
    const { saved } = done(
      await store().saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: 'live', content }] }),
    )
    return { ...by, messageId: saved[0]?.id ?? 0 }
  }
  type App = Awaited<ReturnType<typeof createApp>>
  /** Queues deliveries, one a second. */
  const queue = async ({ accountId, appId }: App, count: number, email = 'ada@example.com'): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      const properties = JSON.stringify({ n })
      done(await store().recordEvent(eventWrite({ accountId, appId, email, properties, at: AT + n * 1_000 })))
    }
  }
  const list = async ({ appId }: App, states: DeliveryState[] | null = null): Promise<DeliveryRow[]> => {
    const query = { appId, messageId: null, contactId: null, states, before: null, limit: 100 }
    return (await store().listDeliveries(query)).reverse()
  }
  /** Other tests' deliveries wait too: theirs are skipped over. */
  const claim = async (
    app: App,
    most: number,
    changes: { claimedBy?: string; now?: number; first?: number[] } = {},
  ) => {
    const skipApps = Array.from({ length: app.appId + 50 }, (_, id) => id).filter((id) => id !== app.appId)
    const claiming = { claimedBy: 'a', now: AT + HOUR, leaseMs: MINUTE, most, skipApps, ...changes }
    return done(await store().claimDeliveries(claiming)).works
  }
  const claimOne = async (app: App, claimedBy = 'a'): Promise<Claim> => {
    const [work] = await claim(app, 1, { claimedBy })
    if (!work) throw new Error('nothing is due')
    return { id: work.delivery.id, claimedBy, attempt: work.delivery.attempt, at: AT + HOUR }
  }
  const stateOf = async (app: App) =>
    (await list(app)).map(({ state, reason }) => (reason ? `${state} ${reason}` : state))
  return { createApp, queue, list, claim, claimOne, stateOf }
}
