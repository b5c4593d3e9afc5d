/** One visit from its first page to the decision about its mail, beside what is true of it and what a plain rule says. */
import type { DeliveryRow } from '../../../src/store/message-types.ts'
import { KINDS, type Step } from './kinds.ts'
import type { Lane } from './lane.ts'
import { createRandom } from '../../random.ts'
import { createVisitor, type Truth } from './visitor.ts'

const MINUTE_MS = 60_000
/** The draft's own words: the mail is due so long after the event, and not for who was there so shortly before. */
const WAIT_MS = 10 * MINUTE_MS
const LEFT_MS = 5 * MINUTE_MS
/** The plain rule: no page view within so long. */
const PLAIN_MS = 5 * MINUTE_MS
/** A delivery that is not decided by then is a wrong decision. */
const LAST_MS = 40 * MINUTE_MS

export type Decision = 'mail' | 'none'
export type Visited = {
  name: string
  kind: string
  described: string
  right: Decision
  plain: Decision
  service: Decision | 'open'
  reason: string | null
  /** minutes between the event and the decision */
  minutes: number
}

type Asked = { name: string; kind: string; seed: number }

export async function runVisit(lane: Lane, { name, kind, seed }: Asked): Promise<Visited> {
  const { service } = lane
  const script = KINDS[kind]?.(createRandom(seed))
  if (!script) throw new Error(`there is no kind ${kind}`)
  lane.holdJobs()
  const window = await lane.openWindow()
  const visitor = createVisitor({ lane, window, name })
  const eventAt = Math.ceil(service.clock.now() - Math.min(...script.steps.map(([minute]) => minute)) * MINUTE_MS)
  let plain: Decision = 'none'
  const passUntil = async (at: number): Promise<void> => {
    const ms = Math.round(at - service.clock.now())
    if (ms <= 0) return
    service.clock.tick(ms)
    await window.clock.fastForward(ms)
  }
  const decide = async (): Promise<DeliveryRow | null> => {
    await service.sender().sendDue()
    const delivery = await findDelivery(lane, visitor.email)
    return delivery && ['kept', 'skipped'].includes(delivery.state) ? delivery : null
  }
  const decidePlainly = async (): Promise<void> => {
    const viewed = await countViews(lane, visitor.email, service.clock.now() - PLAIN_MS)
    plain = viewed > 0 ? 'none' : 'mail'
  }

  const looks: Step[] = [10, 30, 35].map((minute) => [minute, async () => void (await decide())])
  const steps: Step[] = [
    ...script.steps.filter(([minute]) => minute < 0),
    [0, visitor.finish],
    ...script.steps.filter(([minute]) => minute >= 0),
    [WAIT_MS / MINUTE_MS, decidePlainly],
    ...looks,
  ]
  for (const [minute, act] of steps.toSorted(([a], [b]) => a - b)) {
    await passUntil(eventAt + minute * MINUTE_MS)
    if (minute > 10 && (await decide())) break
    await act(visitor)
  }
  const delivery = await decide()
  await visitor.leaveForGood()
  return {
    name,
    kind,
    described: script.described,
    right: script.isUnknown ? 'mail' : decideByTruth(visitor.truth, eventAt),
    plain,
    service: delivery === null ? 'open' : delivery.state === 'kept' ? 'mail' : 'none',
    reason: delivery?.reason ?? null,
    minutes: Math.round(((delivery?.updatedAt ?? eventAt + LAST_MS) - eventAt) / MINUTE_MS),
  }
}

/**
 * What the message says, asked of what is true when it is due: they were not on the site when the results were ready, have
 * not opened them since, and were not on the site in the last minutes.
 */
function decideByTruth({ here, resultSeenAt }: Truth, eventAt: number): Decision {
  const dueAt = eventAt + WAIT_MS
  const isHereAt = (at: number): boolean => here.findLast((change) => change.at <= at)?.isHere ?? false
  const wasHereLately =
    isHereAt(dueAt - LEFT_MS) || here.some(({ at, isHere }) => isHere && at > dueAt - LEFT_MS && at <= dueAt)
  const hasSeen = resultSeenAt !== null && resultSeenAt <= dueAt
  return isHereAt(eventAt) || hasSeen || wasHereLately ? 'none' : 'mail'
}

async function findDelivery({ messaging }: Lane, email: string): Promise<DeliveryRow | null> {
  const contact = await messaging.store().findContact(messaging.app.id, email)
  const query = { appId: messaging.app.id, messageId: null, states: null, before: null, limit: 10 }
  if (!contact) return null
  return (await messaging.store().listDeliveries({ ...query, contactId: contact.id }))[0] ?? null
}

async function countViews({ messaging }: Lane, email: string, since: number): Promise<number> {
  const contact = await messaging.store().findContact(messaging.app.id, email)
  return contact ? (await messaging.store().listViews(contact.id, since)).length : 0
}
