/** Describes rule results for the dashboard, simulations and MCP. */
import { groupAlternatives } from '../messages/conditions.ts'
import type { Rule, Verdict } from '../store/message-types.ts'
import {
  describeAlternative,
  describeCondition,
  describeEvery,
  describeTriggerTime,
  formatValue,
  displayName,
  formatMinutes,
  PERSON_STATUSES,
  triggerNoun,
  type DescribedSubject,
} from '../messages/describe-message.ts'
import type { Check } from './decide.ts'
import { quietMsOf } from './rules.ts'
import { readFault, readMissing, type TemplateFault } from '../messages/template-faults.ts'
import { formatDuration, formatTimeInZone, formatZone } from '../core/format-time.ts'
import { nameLanguage } from '../core/languages.ts'
import { upperFirst } from '../core/text.ts'

function describeDistance(time: number, { content, triggeredAt }: DescribedSubject): string {
  const side = time < triggeredAt ? 'before' : 'after'
  return `${formatDuration(Math.abs(time - triggeredAt))} ${side} ${triggerNoun(content)}`
}

/** "message was paused" */
export const describeMessageStatus = (status: unknown): string =>
  `message was ${status === 'draft' ? 'a draft' : String(status)}`

type Describe = (verdict: Verdict, subject: DescribedSubject, rule: Rule | undefined) => string

const isPass = ({ verdict }: Verdict): boolean => verdict === 'pass'

const BY_RULE = {
  suppression: ({ value }, { person, content }) => {
    const name = displayName(person)
    return value === 'topic' && content.topic !== undefined
      ? `${name} unsubscribed from ${formatValue(content.topic)}.`
      : `${name} ${SUPPRESSIONS.get(value) ?? 'can be emailed'}.`
  },
  consent: (verdict, { person }) =>
    `${displayName(person)} ${isPass(verdict) ? 'had not confirmed their email address yet' : 'no longer had to confirm their email address'}.`,
  message: ({ value }, { content }) =>
    content.asksConsent
      ? 'Its text is set under Sender, Double opt-in.'
      : content.isOwnText
        ? 'Its text came with the API call.'
        : `The ${describeMessageStatus(value)}.`,
  date: ({ about, value, verdict }, { person, zone }) => {
    const name = displayName(person)
    const found =
      value === null
        ? `${name} had no date in the field ${formatValue(about)}`
        : `${name} had the date ${formatTimeInZone(Number(value), zone)} in the field ${formatValue(about)}`
    return verdict === 'pass' ? `${found}.` : `${found}, but a different date triggered this email.`
  },
  inactive: (verdict, { person, zone }) => {
    const name = displayName(person)
    if (typeof verdict.value !== 'number') return `${name} was never active.`
    const last = `${name} was last active on ${formatTimeInZone(verdict.value, zone)}`
    return isPass(verdict) ? `${last}.` : `${last}, so this email was not needed.`
  },
  away: describeAway,
  seen: describeSeen,
  notSeen: describeSeen,
  done: describeDone,
  notDone: describeDone,
  tag: (verdict, subject) => {
    const found = `${displayName(subject.person)} ${verdict.value === true ? 'had' : 'did not have'} the tag ${formatValue(verdict.about)}`
    return isPass(verdict) ? `${found}.` : `${found}, but this message goes only to people ${withTag(verdict)} it.`
  },
  field: (verdict, subject, rule) => {
    const { about, value } = verdict
    const found = `${displayName(subject.person)} had ${value === null ? 'no value' : formatValue(value)} in the field ${formatValue(about)}`
    return isPass(verdict) ? `${found}.` : `${found}, but this message requires ${describeAsked(rule, subject)}.`
  },
  status: (verdict, subject) => {
    const found = `${displayName(subject.person)} ${PAST_STATUSES.get(verdict.value) ?? `was ${String(verdict.value)}`}`
    const wanted = WANTED_STATUSES.get(verdict.about) ?? `are ${verdict.about}`
    return isPass(verdict) ? `${found}.` : `${found}, but this message goes only to people who ${wanted}.`
  },
  again: describeAgain,
  window: (verdict, subject) =>
    isPass(verdict)
      ? `It was within the app's sending hours (${describeHours(verdict, subject)}).`
      : `It was outside the app's sending hours (${describeHours(verdict, subject)}), which start again on ${formatTimeInZone(Number(verdict.value), verdict.zone ?? subject.zone)}.`,
  perDay: (verdict, subject) => describeLimit(verdict, subject, ['24 hours', 'a day']),
  perWeek: (verdict, subject) => describeLimit(verdict, subject, ['7 days', 'a week']),
  brake: ({ about, value }) =>
    `${String(value)} of the app's recent emails ${about === 'complaints' ? 'were reported as spam' : 'bounced'}, so its lifecycle emails wait.`,
  giveUp: ({ value }, { zone }) => `It could not be sent by ${formatTimeInZone(Number(value), zone)}.`,
  holdback: ({ about, value }, subject) =>
    `${displayName(subject.person)} is ${value === true ? '' : 'not '}in the holdback group, the ${about}% of people who don't get this message.`,
  template: (verdict) => describeTemplateFault(readFault(verdict)),
  language: describeLanguage,
  link: ({ about }) =>
    `The email does not link to ${formatValue(about)}, which is not an https:// address on a domain of this app.`,
} satisfies Record<Rule['rule'] | Check | 'template' | 'link' | 'language', Describe>

export const VERDICT_TEXTS: ReadonlyMap<string, Describe> = new Map(Object.entries<Describe>(BY_RULE))

/** In the person's own timezone, if it counts. */
export const describeHours = ({ about, zone }: Verdict, { person }: DescribedSubject): string =>
  zone === undefined ? String(about) : `${about} ${formatZone(zone)}, ${displayName(person)}'s timezone`

export function describeTemplateFault(fault: TemplateFault): string {
  if ('broken' in fault) return `The email could not be rendered: ${fault.broken}.`
  if ('empty' in fault) return 'The email would have had no text.'
  if ('slow' in fault) return 'The email took too long to render.'
  return fault.missing === 'subject' ? 'The subject would have been empty.' : describeGap(readMissing(fault.missing))
}

const describeGap = ({ variable, isFallbackEmpty }: ReturnType<typeof readMissing>): string =>
  `${describeMissing(variable)}, and the message has ${isFallbackEmpty ? 'an empty fallback for it, which counts as none' : 'no fallback for it'}.`

const NAMES_OF_PEOPLE = new Map([
  ['contact.firstName', 'first name'],
  ['contact.lastName', 'last name'],
])

/** `about`: the language of the text; null: the message's own. `value`: the person's locale. */
function describeLanguage({ about, value }: Verdict, subject: DescribedSubject): string {
  const which = about === null ? "The message's own text" : `The text in ${nameLanguage(about)}`
  const name = displayName(subject.person)
  if (value === null) return `${which} was used, because ${name} has no locale.`
  const why = about === null ? `no other text fits ${name}'s locale` : `it fits ${name}'s locale`
  return `${which} was used, because ${why}, ${formatValue(value)}.`
}

/** "The event had no headline" */
function describeMissing(variable: string): string {
  const [source, ...path] = variable.split('.')
  if (source === 'event' && path.length > 0) return `The event had no ${path.join('.')}`
  const field = path[0] === 'fields' && path.length > 1 ? path.slice(1).join('.') : undefined
  const name = NAMES_OF_PEOPLE.get(variable) ?? field
  return source === 'contact' && name !== undefined ? `The person had no ${name}` : `${variable} had no value`
}

const SUPPRESSIONS = new Map<unknown, string>([
  ['unsubscribed', 'unsubscribed'],
  ['topic', 'unsubscribed from its topic'],
  ['pending', 'had not confirmed their email address yet'],
  ['bounced', "can't be reached: an email to this address bounced"],
  ['complained', 'reported an email as spam'],
])

const PAST_STATUSES = new Map<unknown, string>([
  ['pending', "hadn't confirmed their email address"],
  ['bounced', 'had an address that bounced'],
  ['complained', 'had reported an email as spam'],
])

const WANTED_STATUSES = new Map<unknown, string>(Object.entries(PERSON_STATUSES))

const withTag = ({ value }: Verdict): string => (value === true ? 'without' : 'with')

function describeAsked(rule: Rule | undefined, { content: { onlyIf = [] } }: DescribedSubject): string {
  if (rule?.rule !== 'field') return 'something else'
  const others = groupAlternatives(onlyIf).find((group) => group.includes(rule)) ?? []
  const asked = others.flatMap((other) =>
    other.rule === 'field' && other !== rule ? [describeAlternative(other.field, other)] : [],
  )
  return [describeCondition(rule), ...asked].join(', or ')
}

function describeAway(verdict: Verdict, subject: DescribedSubject, rule: Rule | undefined): string {
  const name = displayName(subject.person)
  const isThen = verdict.about === 'trigger'
  const [at, then] = isThen
    ? [subject.triggeredAt, describeTriggerTime(subject.content)]
    : [subject.at, 'when the email was due']
  if (verdict.isUnknown) return describeUnseen(verdict, subject)
  if (verdict.cameBackAt !== undefined) return `${name} ${describeReturn(verdict, subject)}.`
  if (typeof verdict.value === 'string')
    return `${name} was on ${formatValue(verdict.value)} ${then}${needless(verdict)}.`
  if (typeof verdict.value !== 'number') {
    if (verdict.isEstimated) return `${name} had not opened a page for a while, so they counted as away.`
    return isPass(verdict)
      ? `No activity from ${name} was reported for two days, so they counted as away.`
      : `${name} was on your site ${then}.`
  }
  if (verdict.isSilent)
    return `No activity from ${name} was reported for ${describeSilence(at - verdict.value, rule)}, so they counted as away.`
  const span = formatDuration(at - verdict.value)
  const left = `${name} left ${span} before ${isThen ? 'the trigger' : 'the email was due'}`
  if (isPass(verdict)) return `${left}.`
  const minutes = rule?.rule === 'away' ? (rule.minutes ?? 0) : 0
  return `${left}, and this message is skipped unless they have been away for at least ${formatMinutes(minutes)}.`
}

function describeReturn({ cameBackAt, value }: Verdict, subject: DescribedSubject): string {
  const when =
    typeof cameBackAt === 'number' ? describeDistance(cameBackAt, subject) : `after ${triggerNoun(subject.content)}`
  const where = typeof value === 'string' ? ` and was on ${formatValue(value)} when the email was due` : ''
  return `left, but came back ${when}${where}, so this email was not needed`
}

/** The record only has the start of the silence. */
const describeSilence = (ms: number, rule: Rule | undefined): string =>
  formatDuration(rule?.rule === 'away' ? Math.max(ms, quietMsOf(rule)) : ms)

const needless = (verdict: Verdict): string => (isPass(verdict) ? '' : ', so this email was not needed')

function describeUnseen(verdict: Verdict, subject: DescribedSubject): string {
  const from = verdict.about === 'trigger' ? ` from before ${triggerNoun(subject.content)}` : ''
  const found = `When the email was due, Eventpost had received no page views by ${displayName(subject.person)}${from}.`
  return isPass(verdict)
    ? `${found} This message is sent in that case.`
    : `${found} This message is not sent in that case.`
}

function describeSeen(verdict: Verdict, subject: DescribedSubject): string {
  const { about: path, value, rule } = verdict
  const name = displayName(subject.person)
  if (path === null) {
    const sent = isPass(verdict) ? 'is sent in that case' : 'is not sent in that case'
    return `${upperFirst(triggerNoun(subject.content))} has no URL on your domains, so it's unknown whether ${name} opened the page. This message ${sent}.`
  }
  if (verdict.isUnknown) return describeUnseen(verdict, subject)
  if (typeof value !== 'number') {
    const found = `${name} did not open ${formatValue(path)}`
    return rule === 'seen' && !isPass(verdict) ? `${found}, but this message requires it.` : `${found}.`
  }
  const when =
    value <= subject.triggeredAt
      ? `had ${formatValue(path)} open ${describeTriggerTime(subject.content)}`
      : `was on ${formatValue(path)} ${describeDistance(value, subject)}`
  return `${name} ${when}${needless(verdict)}.`
}

function describeDone(verdict: Verdict, subject: DescribedSubject, rule: Rule | undefined): string {
  const name = displayName(subject.person)
  const same = rule !== undefined && 'same' in rule ? rule.same : undefined
  if (same !== undefined && (verdict.same ?? null) === null) return describeIncomparable(verdict, subject, same)
  const event = `${formatValue(verdict.about)}${same === undefined ? '' : ` with the ${same} ${formatValue(verdict.same ?? null)}`}`
  if (typeof verdict.value === 'number')
    return `${event} arrived for ${name} on ${formatTimeInZone(verdict.value, subject.zone)}${needless(verdict)}.`
  const found = `${event} did not arrive for ${name}${describeSince(rule, subject)}`
  return isPass(verdict) ? `${found}.` : `${found}, but this message requires it.`
}

function describeIncomparable(verdict: Verdict, { content }: DescribedSubject, same: string): string {
  const found = `${upperFirst(triggerNoun(content))} had no ${same}, so no ${formatValue(verdict.about)} can match it`
  return isPass(verdict) ? `${found}.` : `${found}, but this message requires a match.`
}

function describeSince(rule: Rule | undefined, { content }: DescribedSubject): string {
  if (rule?.rule !== 'done' && rule?.rule !== 'notDone') return ''
  const { since = 'trigger' } = rule
  if (since === 'ever') return ' at any time'
  if (since === 'trigger') return ` after ${triggerNoun(content)}`
  return since.days === 1 ? ' in the previous day' : ` in the previous ${since.days} days`
}

function describeAgain(verdict: Verdict, subject: DescribedSubject): string {
  const name = displayName(subject.person)
  if (verdict.value === null) return `${name} had not received this message before.`
  const received =
    subject.content.holdback === undefined
      ? 'last received this message'
      : 'last received this message, or was held back from it,'
  const last = `${name} ${received} on ${formatTimeInZone(Number(verdict.value), subject.zone)}`
  return isPass(verdict) ? `${last}.` : `${last}, but it is sent ${describeEvery(Number(verdict.about))}.`
}

function describeLimit(verdict: Verdict, subject: DescribedSubject, [span, per]: [span: string, per: string]): string {
  const { about, value } = verdict
  const count = `${String(value)} lifecycle ${value === 1 ? 'email' : 'emails'}`
  const what = value === 0 ? 'received no lifecycle emails' : `received ${count}`
  const received = `${displayName(subject.person)} ${what} in the previous ${span}`
  return `${received}, ${isPass(verdict) ? 'and' : 'but'} this app sends at most ${about} ${per}.`
}

/** A page was open but silent since: it may be in use, or have crashed. */
function describeUnsure(verdict: Verdict, { content, person, isOver }: DescribedSubject): string {
  const { rule, about } = verdict
  const path = openPathOf(verdict)
  const which = path === null ? 'A page' : formatValue(path)
  const then = rule === 'away' && about !== 'trigger' ? 'when the email was due' : describeTriggerTime(content)
  const name = displayName(person)
  if (isOver) return `${which} was open ${then}, and it was not known whether ${name} was viewing it.`
  const otherwise = rule === 'away' ? 'counts as away' : 'counts as not having seen it'
  return `${which} was open ${then}, and it isn't known yet whether ${name} was viewing it. Without further activity, ${name} ${otherwise}.`
}

/** The page that a person may still be on; null: not stored. */
export const openPathOf = ({ rule, about, openPath }: Verdict): string | null =>
  rule === 'away' ? (openPath ?? null) : about

/** For one event: the delivery's own, or a further one that the email lists. */
function describeVerdict(verdict: Verdict, subject: DescribedSubject, nth: number): string {
  if (verdict.eventAt === undefined) return describeFound(verdict, subject, nth)
  const found = describeFound(verdict, { ...subject, triggeredAt: verdict.eventAt }, nth)
  return `For the event on ${formatTimeInZone(verdict.eventAt, subject.zone)}: ${found}`
}

function describeFound(verdict: Verdict, subject: DescribedSubject, nth: number): string {
  if (verdict.until !== undefined) return describeUnsure(verdict, subject)
  const describe = VERDICT_TEXTS.get(verdict.rule)
  return (
    describe?.(verdict, subject, findRule(verdict, subject.content.onlyIf ?? [], nth)) ??
    `${verdict.rule}: ${String(verdict.value)}.`
  )
}

/** Older records have no index: their verdicts are in the message's order. */
function findRule(verdict: Verdict, onlyIf: readonly Rule[], nth: number): Rule | undefined {
  if (verdict.index !== undefined) return onlyIf[verdict.index]
  const rules = onlyIf.filter((rule) => isAbout(rule, verdict))
  return rules[nth] ?? rules[0]
}

function isAbout(rule: Rule, { rule: name, about }: Verdict): boolean {
  if (rule.rule !== name) return false
  switch (rule.rule) {
    case 'away':
      return (rule.at ?? 'sending') === about
    case 'field':
      return rule.field === about
    case 'done':
    case 'notDone':
      return rule.event === about
    default:
      return true
  }
}

export const describeVerdicts = (verdicts: readonly Verdict[], subject: DescribedSubject): string[] =>
  verdicts.map((verdict, index) => {
    const before = verdicts.slice(0, index)
    return describeVerdict(
      verdict,
      subject,
      before.filter(
        ({ rule, about, eventAt }) => rule === verdict.rule && about === verdict.about && eventAt === verdict.eventAt,
      ).length,
    )
  })
