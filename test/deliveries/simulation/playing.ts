/** Plays a story through the service while its message is live, and simulates the message on what came of it. */
import { type Simulation, simulate } from '../../../src/deliveries/simulation/simulate.ts'
import { openForReading } from '../../../src/store/database.ts'
import type { DeliveryRow, Verdict } from '../../../src/store/message-types.ts'
import { createSimulationReads } from '../../../src/store/simulation-reads.ts'
import { report, send } from '../../api/reports.ts'
import { CONTACTS, createTestServer, DAY, EVENTS, NOW } from '../../helper.ts'
import { createMessaging, MINUTE, recordOf } from '../../messaging.ts'
import type { Person, Step, Story } from './random-stories.ts'

/** Well after all that a story has happen long ago. */
const LIVE_AT = NOW + 41 * DAY
/** Of what a story has happen before it went live nothing is simulated. */
const EARLIER_DAYS = 5

/** What became of all triggers at one moment, a text each, and how many there were. */
export type Told = { ends: string[]; triggered: number }
/** `outcomes`: for the count of what stories tell. */
export type Compared = { live: Told; simulated: Told; outcomes: string[] }

/** @returns what was so at the moments of the story, and when all had ended */
export async function playStory(story: Story): Promise<Compared[]> {
  const playing = await openStory(story)
  return play(playing, story).finally(playing.close)
}

async function play(playing: Awaited<ReturnType<typeof openStory>>, { steps, moments }: Story): Promise<Compared[]> {
  const compared: Compared[] = []
  const times = new Set([...steps.map(({ at }) => at), ...moments])
  for (const at of [...times].toSorted((a, b) => a - b)) {
    await playing.decideBefore(at)
    await playing.moveTo(at)
    for (const step of steps) if (step.at === at) await playing.take(step)
    if (!moments.includes(at)) continue
    // what is due now is decided after all that came by now
    await playing.decideBefore(at + 1)
    compared.push(await playing.compare())
  }
  await playing.decideBefore(Number.POSITIVE_INFINITY)
  return [...compared, await playing.compare()]
}

async function openStory({ content, settings, setUp }: Story) {
  const server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  const messaging = await createMessaging(server)
  const { app, by, store } = messaging
  await store().setSnippet({ ...by, settings: { hosts: [], addsPeople: true } })
  await messaging.set(settings)
  for (const person of setUp) await addPerson(person)
  let isLive = false

  async function addPerson({ email, tags, fields, isUnsubscribed }: Person): Promise<void> {
    await server.call('POST', CONTACTS, { body: { newsletter: server.first.appId, email, tags, fields } })
    if (isUnsubscribed) await store().suppress({ appId: app.id, email, reason: 'unsubscribed', at: server.clock.now() })
  }

  const waitUntil = (at: number): void => server.clock.tick(Math.max(0, at - server.clock.now()))

  async function goLive(): Promise<void> {
    waitUntil(LIVE_AT)
    const saved = await store().saveMessages({ ...by, drafts: [{ id: null, name: 'Live', status: 'live', content }] })
    if ('refusal' in saved) throw new Error(saved.refusal)
    isLive = true
  }

  const simulateNow = (): Simulation => {
    const [now, db] = [server.clock.now(), openForReading(server.folder)]
    const days = Math.ceil((now - LIVE_AT) / DAY) + EARLIER_DAYS
    try {
      const input = { appId: app.id, content, settings, days, now }
      return simulate(createSimulationReads(db, { until: now }), input, { most: 10_000 })
    } finally {
      db.close()
    }
  }

  const sendEvent = async ({ who: email, lateMs, event, properties }: Step & { does: 'event' }): Promise<void> => {
    const occurredAt = lateMs === 0 ? undefined : new Date(server.clock.now() - lateMs).toISOString()
    const body = { app: server.first.appId, email, event, properties, occurredAt, createContact: true }
    const { status, text } = await server.call('POST', EVENTS, { body })
    if (status !== 202) throw new Error(text)
  }

  const sendReport = async ({ who: email, id, events }: Step & { does: 'report' }): Promise<void> => {
    const { status, text } = await send(server, report(server.first, { email, id, events }))
    if (status !== 202) throw new Error(text)
  }

  const tellLive = async (delivery: DeliveryRow): Promise<Said> => {
    const { contactId, state, reason, triggeredAt, dueAt, handedAt, updatedAt } = delivery
    const email = (await store().byId(contactId))?.email ?? null
    const waits = isWaiting(delivery)
    const outcome = state === 'kept' ? 'send' : waits ? 'waiting' : (reason ?? state)
    const { verdicts } = recordOf(delivery)
    return { email, triggeredAt, outcome, dueAt: waits ? dueAt : (handedAt ?? updatedAt), verdicts }
  }

  return {
    close: () => server.close(),
    take: (step: Step): Promise<void> => (step.does === 'event' ? sendEvent(step) : sendReport(step)),

    /** `at`, here and below: ms after the message went live. */
    async moveTo(at: number): Promise<void> {
      if (at >= 0 && !isLive) await goLive()
      waitUntil(LIVE_AT + at)
    },

    /** Each at the moment when it is due. */
    async decideBefore(at: number): Promise<void> {
      for (;;) {
        const dueAt = Math.min(...(await messaging.deliveries()).filter(isWaiting).map((one) => one.dueAt))
        if (dueAt >= LIVE_AT + at) return
        waitUntil(dueAt)
        await server.sender().sendDue()
      }
    },

    async compare(): Promise<Compared> {
      const { lines, triggered } = simulateNow()
      const again = lines.filter(({ outcome }) => outcome === 'again')
      const simulated = lines.filter((line) => !again.includes(line))
      const live = await Promise.all((await messaging.deliveries()).map(tellLive))
      return {
        live: { ends: live.map(toText).toSorted(), triggered: live.length + again.length },
        simulated: { ends: simulated.map(toText).toSorted(), triggered },
        outcomes: lines.map(({ outcome }) => outcome),
      }
    },
  }
}

const isWaiting = ({ state }: DeliveryRow): boolean => state === 'waiting' || state === 'deferred'

type Said = Pick<Simulation['lines'][number], 'email' | 'triggeredAt' | 'outcome' | 'dueAt'> & { verdicts: Verdict[] }

/** Live there is more to judge than a simulation has, such as the message's own status. */
const RULES = ['away', 'seen', 'notSeen', 'done', 'notDone', 'tag', 'field']

/** In minutes after the message went live. */
function toText({ email, triggeredAt, outcome, dueAt, verdicts }: Said): string {
  const [triggered, ended] = [triggeredAt, dueAt].map((at) => (at - LIVE_AT) / MINUTE)
  const rules = verdicts.filter(({ rule }) => RULES.includes(rule))
  const judged = rules.map(({ rule, about, value, verdict, isUnknown, isSilent, isEstimated, until }) =>
    [rule, about, value, verdict, isUnknown && 'unknown', isSilent && 'silent', isEstimated && 'estimated', until]
      .filter((word) => word !== undefined && word !== null)
      .join(' '),
  )
  return `${email}, event ${triggered}: ${outcome} ${ended} (${judged.join(', ')})`
}
