import { DAY_MS } from '../../core/clock.ts'
import { idAt } from '../../core/ids.ts'
import { readTimezone } from '../../core/local-time.ts'
import {
  type DateTrigger,
  type InactiveTrigger,
  type MailSettings,
  type MessageContent,
  CANCELLATION_REASONS,
  type Verdict,
} from '../../store/message-types.ts'
import type { SimulatedPerson, SimulationReads, TriggerHappening } from '../../store/simulation.ts'
import { isTooOld } from '../../events/event-input.ts'
import { isStartedBy, nameOfStart } from '../../messages/triggers.ts'
import type { TemplateFault } from '../../messages/template-faults.ts'
import { findVariant, listTexts, writeTexts } from '../../messages/mail-texts.ts'
import { computedMs, makeTemplateScope, RENDER_MS } from '../../messages/template-scope.ts'
import { DEFAULT_PLACE } from '../../messages/template-values.ts'
import { fillTemplate, isBlankText } from '../../messages/templates.ts'
import { ownTimezone } from '../../people/timezone.ts'
import { isDateTrigger, isInactiveTrigger, listDue } from '../schedules.ts'
import { readPast } from './past.ts'
import { simulatePerson } from './person.ts'

/** Per outcome, the latest ones. Counts cover all. */
const LISTED_LINES = 100
const UNSAVED = 0
const FILLING_MS = 5_000
const PROGRESS_EVERY = 200

/** `messageId` null: not saved yet, so other people would be held back. `contactId`: of one person only. */
export type SimulationInput = {
  appId: number
  messageId: number | null
  content: MessageContent
  settings: Pick<MailSettings, 'sendWindow' | 'timezone' | 'giveUpHours'>
  /** the app's own domains */
  hosts: string[]
  days: number
  now: number
  contactId?: number
}

/**
 * `dueAt`: when it was or would be decided (ms UTC). `ownZone`: the person's own timezone. `isToday`: decided by current
 * data.
 */
export type SimulationLine = {
  ownZone?: string
  contactId: number
  email: string | null
  triggeredAt: number
  dueAt: number
  outcome: string
  verdicts: (Verdict & { isToday?: true })[]
}

/** People by outcome, each person once. `lines`: one for each of the latest people. */
export type PeopleOutcome = { outcome: string; people: number; lines: SimulationLine[] }

/**
 * `tooOld`: events that arrived since `from` and were too old, so they are no triggers. `hasMore`: older triggers, and
 * events that arrived before them, were not included. `counts` and `lines`: of triggers, by outcome. `estimated`: decided
 * by page views only. `untried`: emails not filled in for lack of time.
 */
export type Simulation = {
  from: number
  until: number
  triggered: number
  tooOld: number
  hasMore: boolean
  counts: Record<string, number>
  estimated: number
  untried: number
  people: {
    /** have a trigger */
    triggered: number
    /** would get an email */
    emailed: number
    /** would get it without a page view before it was due, though the message requires that they left */
    unseen: number
    /** would not get one yet: it isn't due */
    waiting: number
    /** the rest: held back for comparison */
    heldBack: number
  }
  outcomes: PeopleOutcome[]
  lines: SimulationLine[]
}

export type Progress = { done: number; of: number }

/** `most`: triggers. `rest`: is awaited between small steps of reads that don't wait for a server. */
type Simulating = { most: number; onProgress?: (progress: Progress) => void; rest?: () => Promise<void> }

/** Limits per person are ignored, because they depend on other messages. Tag triggers can't be simulated. */
export async function simulate(
  reads: SimulationReads,
  input: SimulationInput,
  { most, onProgress = () => {}, rest }: Simulating,
): Promise<Simulation> {
  const { appId, hosts, content, days, now, contactId: onlyId } = input
  const [from, timezone] = [now - days * DAY_MS, readTimezone(input.settings.timezone)]
  const { triggers, ...taken } = await takeNewest(
    readTriggers(reads, { appId, from, now, timezone, contactId: onlyId, rest }, content),
    from,
    { most, rest },
  )
  const lines: SimulationLine[] = []
  const trials = await createTrials(reads, input)
  const settings = { ...input.settings, perPersonDay: null, perPersonWeek: null }
  const asked = { appId, hosts, content, settings, from, now, timezone }
  let [done, reported] = [0, 0]
  for (const [contactId, own] of Map.groupBy(triggers, (trigger) => trigger.contactId)) {
    const person = await reads.findPerson(contactId)
    const past = await readPast(reads, asked, contactId)
    const ownZone = ownTimezone(person?.fields ?? null)
    await simulatePerson(
      {
        ...asked,
        timezone: ownZone ?? asked.timezone,
        contactId,
        messageId: input.messageId ?? UNSAVED,
        person,
        past,
        findFault: (event, events) => trials.findFault(person, event, events),
        note: ({ occurredAt }, { outcome, at, verdicts }) =>
          void lines.push({
            contactId,
            email: person?.email ?? null,
            triggeredAt: occurredAt,
            dueAt: at,
            outcome,
            ...(ownZone === null ? {} : { ownZone }),
            verdicts: verdicts.filter(isShown).map(markToday),
          }),
      },
      own,
    )
    await rest?.()
    done += own.length
    if (done - reported < PROGRESS_EVERY) continue
    onProgress({ done, of: triggers.length })
    reported = done
  }
  return {
    from,
    until: now,
    triggered: triggers.length,
    ...taken,
    ...countLines(lines),
    untried: trials.countUntried(),
    lines: listLines(lines),
  }
}

/** Events that happened before `from` are no triggers, but may have arrived too old since. */
async function takeNewest(newest: AsyncIterable<TriggerHappening>, from: number, { most, rest }: Simulating) {
  const triggers: TriggerHappening[] = []
  let tooOld = 0
  for await (const trigger of newest) {
    await rest?.()
    if (isTooOld(trigger)) tooOld += 1
    else if (trigger.occurredAt < from) continue
    else if (triggers.length === most) return { triggers: triggers.reverse(), tooOld, hasMore: true }
    else triggers.push(trigger)
  }
  return { triggers: triggers.reverse(), tooOld, hasMore: false }
}

type TriggerRange = {
  appId: number
  from: number
  now: number
  timezone: string
  contactId: number | undefined
  rest: Simulating['rest']
}

/** With today's dates. */
async function readTimed(
  reads: SimulationReads,
  { from, now, timezone, rest, ...range }: TriggerRange,
  trigger: DateTrigger | InactiveTrigger,
): Promise<TriggerHappening[]> {
  const found: TriggerHappening[] = []
  for await (const person of reads.listPeople(range)) {
    await rest?.()
    for (const { dueAt, trigger: name } of await listDue(trigger, {
      ...person,
      timezone,
      until: now,
      listActivity: (since) => reads.listActivity(person.id, since),
      from,
    })) {
      const none = { path: null, properties: null, eventId: null }
      // after everything that arrived in the same millisecond
      found.push({
        ...none,
        id: idAt(dueAt + 1) - 1,
        contactId: person.id,
        at: dueAt,
        occurredAt: dueAt,
        trigger: name,
      })
    }
  }
  return found.sort((a, b) => b.at - a.at)
}

async function* readTriggers(
  reads: SimulationReads,
  range: TriggerRange,
  { trigger }: MessageContent,
): AsyncGenerator<TriggerHappening> {
  if (isDateTrigger(trigger) || isInactiveTrigger(trigger)) yield* await readTimed(reads, range, trigger)
  if ('contact' in trigger) yield* reads.newestPeople(range)
  if ('message' in trigger) yield* reads.newestSent(range, trigger.message)
  const name = nameOfStart(trigger)
  if (name === null) return
  const found = 'page' in trigger ? await reads.newestViews(range) : await reads.newestEvents(range, name)
  for await (const one of found) if (isStartedBy(trigger, { ...one, name })) yield one
}

/** Of the app's own checks only failures are shown. */
const isShown = ({ rule, verdict }: Verdict): boolean =>
  verdict === 'fail' || rule === 'date' || rule === 'inactive' || Object.hasOwn(CANCELLATION_REASONS, rule)

const markToday = (verdict: Verdict): Verdict & { isToday?: true } =>
  isOfToday(verdict) ? { ...verdict, isToday: true } : verdict

const isOfToday = ({ rule, about }: Verdict): boolean =>
  ['tag', 'field', 'status', 'suppression', 'date'].includes(rule) ||
  (rule === 'template' && (about?.startsWith('contact.') ?? false))

function countLines(
  lines: readonly SimulationLine[],
): Pick<Simulation, 'counts' | 'estimated' | 'people' | 'outcomes'> {
  const counts = new Map<string, number>()
  for (const { outcome } of lines) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  const isEstimated = ({ verdicts }: SimulationLine): boolean => verdicts.some((verdict) => verdict.isEstimated)
  const ofPeople = [...Map.groupBy(lines, ({ contactId }) => contactId).values()].flatMap((own) => takeFirst(own) ?? [])
  const outcomes = [...Map.groupBy(ofPeople, ({ outcome }) => outcome)]
    .map(([outcome, own]) => ({ outcome, people: own.length, lines: listLines(own) }))
    .sort((a, b) => Number(b.outcome === 'send') - Number(a.outcome === 'send') || b.people - a.people)
  const peopleWith = (wanted: string): number => outcomes.find(({ outcome }) => outcome === wanted)?.people ?? 0
  const emails = Map.groupBy(
    lines.filter(({ outcome }) => outcome === 'send'),
    ({ contactId }) => contactId,
  )
  const people = {
    triggered: ofPeople.length,
    emailed: peopleWith('send'),
    unseen: [...emails.values()].filter((own) => own.every(isUnseen)).length,
    waiting: peopleWith('waiting'),
    heldBack: peopleWith('holdback'),
  }
  return { counts: Object.fromEntries(counts), estimated: lines.filter(isEstimated).length, people, outcomes }
}

/**
 * A person with several triggers counts under the first of these outcomes, otherwise under the reason of the latest
 * trigger; under `again` only without any other.
 */
const FIRST_OUTCOMES = ['send', 'waiting', 'holdback']

/** Of a person's first outcome, the latest line, if possible with the rules: joined triggers have none of their own. */
const takeFirst = (own: readonly SimulationLine[]): SimulationLine | undefined =>
  own.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || Number(hasRules(b)) - Number(hasRules(a)) || b.triggeredAt - a.triggeredAt,
  )[0]

const hasRules = ({ verdicts }: SimulationLine): boolean => verdicts.length > 0

function rankOf({ outcome }: SimulationLine): number {
  const rank = FIRST_OUTCOMES.indexOf(outcome)
  if (rank >= 0) return rank
  return FIRST_OUTCOMES.length + Number(outcome === 'again')
}

const isUnseen = ({ verdicts }: SimulationLine): boolean =>
  verdicts.some(({ rule, isUnknown }) => rule === 'away' && isUnknown === true)

function listLines(lines: readonly SimulationLine[]): SimulationLine[] {
  const inOrder = lines.toSorted((a, b) => b.triggeredAt - a.triggeredAt)
  const listed = new Map<string, number>()
  return inOrder.filter(({ outcome }) => {
    const count = (listed.get(outcome) ?? 0) + 1
    listed.set(outcome, count)
    return count <= LISTED_LINES
  })
}

/** Whether emails can be filled in with people's current values. */
async function createTrials(reads: SimulationReads, { appId, content: { mail } }: SimulationInput) {
  const app = (await reads.findApp(appId)) ?? { name: '', homeUrl: null, ...DEFAULT_PLACE }
  const sources = new Map(
    listTexts(mail).map(({ variant, text }) => {
      const { subject, preheader, body, html } = writeTexts(text)
      return [variant, [subject, preheader, body, ...(html === '' ? [] : [html])]] as const
    }),
  )
  let [filledMs, untried] = [0, 0]

  const fill = (contact: SimulatedPerson, scope: ReturnType<typeof makeTemplateScope>): TemplateFault | null => {
    const variant = findVariant(mail, contact)
    const filled: string[] = []
    const [place, until] = [{ ...app, locale: variant ?? app.locale }, computedMs() + RENDER_MS]
    for (const source of sources.get(variant) ?? []) {
      const part = fillTemplate(source, scope, { place, until })
      if (!('filled' in part)) return part
      filled.push(part.filled)
    }
    if (isBlankText(filled.at(0))) return { missing: 'subject' }
    return isBlankText(filled.at(-1)) ? { empty: 'body' } : null
  }

  return {
    /** null: no fault, or unknown (erased person). */
    findFault(contact: SimulatedPerson | null, event: TriggerHappening, events: readonly TriggerHappening[]) {
      if (filledMs > FILLING_MS) untried += 1
      if (contact === null || filledMs > FILLING_MS) return null
      const startedAt = performance.now()
      const unsubscribeUrl = 'https://example.com/unsubscribe'
      const fault = fill(contact, makeTemplateScope({ contact, event, events: [...events], app, unsubscribeUrl }))
      filledMs += performance.now() - startedAt
      if (fault === null || !('slow' in fault)) return fault
      untried += 1
      return null
    },
    countUntried: (): number => untried,
  }
}
