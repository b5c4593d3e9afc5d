import { locationOf } from '../../data-folder.ts'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { LATE_IDS, timeOfId } from '../../../src/core/ids.ts'
import { tryEvent } from '../../../src/deliveries/dry-runs.ts'
import { explainDelivery, explainSimulation, LEFT_OUT, toExplained } from '../../../src/deliveries/explanations.ts'
import { explainEvents } from '../../../src/deliveries/message-explanations.ts'
import { type Simulation, type SimulationLine, simulate } from '../../../src/deliveries/simulation/simulate.ts'
import { readTimezone } from '../../../src/core/local-time.ts'
import { openForReadingAt } from '../../../src/store/open.ts'
import type { DeliveryRow, Verdict } from '../../../src/store/message-types.ts'
import { createSimulationReads } from '../../../src/store/simulation.ts'
import { report, saveSnippet, send } from '../../api/reports.ts'
import { CONTACTS, createTestServer, DAY, EVENTS } from '../../helper.ts'
import { createMessaging, MINUTE, recordOf } from '../../messaging.ts'
import { eventWrite } from '../../store/samples.ts'
import { LIVE_AT, PEOPLE, type Person, SOURCE, type Step, type Story, TOPIC } from './random-stories.ts'

const OPT_IN = { isOn: true, days: null, storesIp: false, subject: null, body: null, button: null }

/** The simulation doesn't include these days. */
const EARLIER_DAYS = 5

/** `live` and `predicted` have the same form. */
type Compared = { live: object; predicted: object }
/** `outcomes`: for statistics. */
type Played = { compared: Compared[]; outcomes: string[] }

/** @returns the states at the story's moments and at the end, and each event with its dry run */
export async function playStory(story: Story): Promise<Played> {
  const playing = await openStory(story)
  return play(playing, story).finally(playing.close)
}

async function play(playing: Awaited<ReturnType<typeof openStory>>, { steps, moments }: Story): Promise<Played> {
  const times = new Set([...steps.map(({ at }) => at), ...moments])
  for (const at of [...times].toSorted((a, b) => a - b)) {
    await playing.decideBefore(at)
    await playing.moveTo(at)
    for (const step of steps) if (step.at === at) await playing.take(step)
    if (!moments.includes(at)) continue
    // everything up to now counts
    await playing.decideBefore(at + 1)
    await playing.compare()
  }
  await playing.decideBefore(Number.POSITIVE_INFINITY)
  await playing.compare()
  return playing.played
}

async function openStory({ content, source, settings, drafts, setUp }: Story) {
  const server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  const messaging = await createMessaging(server)
  const { app, by, store } = messaging
  await saveSnippet(server.parts(), app, { hosts: [], addsPeople: true })
  await messaging.set({ ...settings, optIn: OPT_IN })
  for (const person of setUp) await addPerson(person)
  let messageId: number | null = null
  const isSequence = 'message' in content.trigger
  const isScheduled = 'date' in content.trigger || 'inactiveDays' in content.trigger

  async function addPerson(person: Person): Promise<void> {
    const { email, tags, fields, isUnsubscribed, isPending, hasEndedTopic } = person
    const consent = isPending ? 'pending' : undefined
    await server.call('POST', CONTACTS, { body: { newsletter: server.first.appId, email, tags, fields, consent } })
    // the email that asks is none of the message's
    await server.sender().sendDue()
    const at = server.clock.now()
    const contactId = (await store().findContact(app.id, email))?.id ?? 0
    if (hasEndedTopic) await store().chooseTopics({ contactId, end: [TOPIC], resume: [], actor: null, at })
    if (isUnsubscribed) await store().suppress({ appId: app.id, email, reason: 'unsubscribed', at })
  }

  const waitUntil = (at: number): void => server.clock.tick(Math.max(0, at - server.clock.now()))

  async function goLive(): Promise<void> {
    waitUntil(LIVE_AT)
    const earlier = Array.from({ length: drafts }, (_, index) => ({
      id: null,
      name: `${index}`,
      status: null,
      content,
    }))
    const live = { id: null, status: 'live' as const }
    const sources = isSequence ? [{ ...live, name: SOURCE, content: source }] : []
    const saved = await store().saveMessages({
      ...by,
      at: server.clock.now(),
      drafts: [...earlier, ...sources, { ...live, name: 'Live', content }],
    })
    if ('refusal' in saved) throw new Error(saved.refusal)
    messageId = saved.saved.at(-1)?.id ?? null
    await runSchedules()
  }

  const runSchedules = async (): Promise<void> => {
    for (;;) {
      const outcome = await store().runSchedules({ at: server.clock.now() })
      if ('refusal' in outcome) throw new Error(outcome.refusal)
      if (!outcome.hasMore) return
    }
  }

  const reading = openForReadingAt(locationOf(server.folder))
  const next = reading.sql.prepare<{ at: number | null }>('SELECT min(due_at) AS at FROM scheduled_people')
  const unfilled = reading.sql.prepare<{ id: number | null; since: number | null }>(
    `SELECT min(contacts.id) AS id, min(since_at) AS since FROM message_schedules AS schedules
     JOIN contacts ON contacts.app_id = schedules.app_id AND contacts.id > filled_until
       AND (fill_to IS NULL OR contacts.id <= fill_to) WHERE is_over = 0`,
  )
  /** On PostgreSQL, other instances may still write people with lower ids, so nobody is scheduled at once. */
  const nextFillAt = async (): Promise<number> => {
    const { id, since } = (isOnPostgres ? await unfilled.get() : null) ?? { id: null, since: null }
    if (id === null || since === null) return Number.POSITIVE_INFINITY
    return Math.max(timeOfId(id) + 1, since) + timeOfId(LATE_IDS) - timeOfId(0)
  }
  const nextScheduledAt = async (): Promise<number> =>
    Math.min((await next.get())?.at ?? Number.POSITIVE_INFINITY, await nextFillAt())

  const simulateNow = async (contactId?: number): Promise<Simulation> => {
    const now = server.clock.now()
    const days = Math.ceil((now - LIVE_AT) / DAY) + EARLIER_DAYS
    const input = { appId: app.id, messageId, hosts: app.hosts, content, settings, days, now, contactId }
    return await simulate(createSimulationReads(reading.sql, { until: now }), input, { most: 10_000 })
  }

  const played: Played = { compared: [], outcomes: [] }

  /** Does a dry run first and compares. */
  const sendEvent = async ({ who: email, lateMs, event, properties }: Step & { does: 'event' }): Promise<void> => {
    const at = server.clock.now()
    const occurredAt = lateMs === 0 ? null : at - lateMs
    const person = { accountId: app.accountId, appId: app.id, email }
    const write = { ...person, name: event, properties: properties ? JSON.stringify(properties) : null, at, occurredAt }
    const tried = await tryEvent(store(), app, eventWrite(write))
    if ('refusal' in tried) throw new Error(tried.refusal)
    const before = await messaging.deliveries()
    const happened = occurredAt === null ? undefined : new Date(occurredAt).toISOString()
    const body = { app: server.first.appId, email, event, properties, occurredAt: happened, createContact: true }
    const { status, text } = await server.call('POST', EVENTS, { body })
    if (status !== 202) throw new Error(text)
    const came = (await messaging.deliveries()).slice(before.length).reverse()
    const describe = ({ state, dueAt }: { state: string; dueAt: number }) => `${state} ${(dueAt - LIVE_AT) / MINUTE}`
    played.compared.push({ live: came.map(describe), predicted: tried.queued.map(describe) })
  }

  const sendReport = async ({ who: email, id, events }: Step & { does: 'report' }): Promise<void> => {
    const { status, text } = await send(server, report(server.first, { email, id, events }))
    if (status !== 202) throw new Error(text)
  }

  const tellLive = async (delivery: DeliveryRow): Promise<Said> => {
    const { id, state, reason, triggeredAt, dueAt, handedAt, updatedAt } = delivery
    const work = await store().findWork(id)
    if (!work) throw new Error('a delivery without a person')
    const waits = isWaiting(delivery)
    const outcome = state === 'kept' ? 'send' : waits ? 'waiting' : (reason ?? state)
    const { verdicts } = recordOf(delivery)
    const { why } = explainDelivery(toExplained(work))
    const at = waits ? dueAt : (handedAt ?? updatedAt)
    // a simulation describes events, not their shared email
    const own = why.replace(` ${LEFT_OUT}`, '')
    return { email: work.contact.email, triggeredAt, outcome, dueAt: at, verdicts, why: own }
  }

  /** Events that started nothing because of `again`. */
  const listRefused = async (): Promise<string[]> => {
    const refused: string[] = []
    for (const person of await Promise.all(PEOPLE.map((email) => store().findContact(app.id, email)))) {
      if (!person) continue
      const query = { appId: app.id, contactId: person.id, name: null, before: null, limit: 1_000 }
      const { rows } = await store().listEvents(query)
      for (const [id, outcomes] of await explainEvents(store(), person, rows)) {
        const row = rows.find((one) => one.id === id)
        const own = outcomes.filter(({ message }) => message.id === messageId)
        const isRefused = own.some((one) => one.delivery === null && one.why.startsWith('This message is sent'))
        if (isRefused && row) refused.push(`${person.email}, event ${(row.occurredAt - LIVE_AT) / MINUTE}`)
      }
    }
    return refused.toSorted()
  }

  async function decideBefore(at: number): Promise<void> {
    for (;;) {
      const dueAt = Math.min(...(await messaging.deliveries()).filter(isWaiting).map((one) => one.dueAt))
      const scheduledAt = isScheduled ? await nextScheduledAt() : Number.POSITIVE_INFINITY
      // people are looked at for ever: in the end, only while an email waits
      if (scheduledAt < LIVE_AT + at && (scheduledAt <= dueAt || dueAt >= LIVE_AT + at)) {
        if (at === Number.POSITIVE_INFINITY && dueAt === Number.POSITIVE_INFINITY) return
        waitUntil(scheduledAt)
        await runSchedules()
        continue
      }
      if (dueAt >= LIVE_AT + at) return
      waitUntil(dueAt)
      await server.sender().sendDue()
    }
  }

  const context = { content, zone: readTimezone(settings.timezone) }

  return {
    played,
    async close(): Promise<void> {
      await reading.close()
      await server.close()
    },
    take: (step: Step): Promise<void> => (step.does === 'event' ? sendEvent(step) : sendReport(step)),

    /** `at`, here and below: ms after the message went live. */
    async moveTo(at: number): Promise<void> {
      if (at >= 0 && messageId === null) {
        await goLive()
        await decideBefore(at)
      }
      waitUntil(LIVE_AT + at)
    },

    decideBefore,

    async compare(): Promise<void> {
      const { lines } = await simulateNow()
      const again = lines.filter(({ outcome }) => outcome === 'again')
      const simulated = lines.filter((line) => !again.includes(line))
      const own = (await messaging.deliveries()).filter((one) => one.messageId === messageId)
      const live = await Promise.all(own.map(tellLive))
      const explain = (line: SimulationLine): Said => {
        const person = { firstName: null, email: line.email }
        return { ...line, why: explainSimulation(line, { ...context, person }).why }
      }
      // nothing explains an email that triggered no other one
      const refused = (isSequence || isScheduled ? [] : again)
        .map(({ email, triggeredAt }) => `${email}, event ${(triggeredAt - LIVE_AT) / MINUTE}`)
        .toSorted()
      played.compared.push({
        live: { ends: live.map(toText).toSorted(), refused: await listRefused() },
        predicted: { ends: simulated.map((line) => toText(explain(line))).toSorted(), refused },
      })
      const ofPerson = ({ contactId }: SimulationLine): number => contactId
      for (const [contactId, ofOne] of Map.groupBy(lines, ofPerson))
        played.compared.push({ live: ofOne, predicted: (await simulateNow(contactId)).lines })
      played.outcomes.push(...lines.map(({ outcome }) => outcome))
    },
  }
}

const isWaiting = ({ state }: DeliveryRow): boolean => state === 'waiting' || state === 'deferred'

type Said = Pick<SimulationLine, 'email' | 'triggeredAt' | 'outcome' | 'dueAt'> & { verdicts: Verdict[]; why: string }

/** Outcomes that aren't final in a simulation. */
const GOES_ON = ['send', 'waiting', 'joined']

/** Live decisions have further checks, such as the message's status. */
const RULES = ['date', 'inactive', 'away', 'seen', 'notSeen', 'done', 'notDone', 'tag', 'field']

/** In minutes after the message went live. */
function toText({ email, triggeredAt, outcome, dueAt, verdicts, why }: Said): string {
  const [triggered, ended] = [triggeredAt, dueAt].map((at) => (at - LIVE_AT) / MINUTE)
  const rules = verdicts.filter(({ rule }) => RULES.includes(rule))
  const decided = rules.map(({ rule, about, value, verdict, isUnknown, isSilent, isEstimated, until }) =>
    [rule, about, value, verdict, isUnknown && 'unknown', isSilent && 'silent', isEstimated && 'estimated', until]
      .filter((word) => word !== undefined && word !== null)
      .join(' '),
  )
  const said = GOES_ON.includes(outcome) ? '' : ` ${why}`
  return `${email}, event ${triggered}: ${outcome} ${ended} (${decided.join(', ')})${said}`
}
