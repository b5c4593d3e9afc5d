/** Describes rule results for the dashboard, simulations and MCP. */
import type { Compared, Rule, Verdict } from '../store/message-types.ts'
import { sayCompared, sayValue } from '../messages/condition-words.ts'
import { quietMsOf } from './rules.ts'
import { readFault, type TemplateFault } from '../messages/template-faults.ts'
import { saySpan, sayTime } from '../core/time-words.ts'
import { sayName, sayTrigger, type Told } from '../messages/told.ts'

/** "2 minutes after the event" */
function sayAgo(time: number, { content, triggeredAt }: Told): string {
  const side = time < triggeredAt ? 'before' : 'after'
  return `${saySpan(Math.abs(time - triggeredAt))} ${side} ${sayTrigger(content)}`
}

type Say = (verdict: Verdict, told: Told, rule: Rule | undefined) => string

const isPass = ({ verdict }: Verdict): boolean => verdict === 'pass'

export const VERDICT_WORDS: Record<string, Say> = {
  wish: ({ value }, told) => `${sayName(told.person)} ${WISHES.get(value) ?? 'may be written to'}.`,
  message: ({ value }) => `The message was ${value === 'draft' ? 'a draft' : String(value)}.`,
  away: sayAway,
  seen: saySeen,
  notSeen: saySeen,
  done: sayDone,
  notDone: sayDone,
  tag: (verdict, told) => {
    const found = `${sayName(told.person)} ${verdict.value === true ? 'had' : 'did not have'} the tag ${sayValue(verdict.about)}`
    return isPass(verdict) ? `${found}.` : `${found}, and this message goes only to people ${withTag(verdict)} it.`
  },
  field: (verdict, told, rule) => {
    const { about, value } = verdict
    const found = `${sayName(told.person)} had ${value === null ? 'nothing' : sayValue(value)} in the field ${sayValue(about)}`
    return isPass(verdict) ? `${found}.` : `${found}, and this message asks for ${sayAsked(rule)}.`
  },
  status: (verdict, told) => {
    const found = `${sayName(told.person)} was ${String(verdict.value)}`
    return isPass(verdict) ? `${found}.` : `${found}, and this message goes only to people who are ${verdict.about}.`
  },
  again: sayAgain,
  window: (verdict, { zone }) =>
    isPass(verdict)
      ? `It was within the hours in which this app sends (${verdict.about}).`
      : `It was outside the hours in which this app sends (${verdict.about}). They begin again on ${sayTime(Number(verdict.value), zone)}.`,
  perDay: (verdict, told) => sayLimit(verdict, told, 'a day'),
  perWeek: (verdict, told) => sayLimit(verdict, told, 'a week'),
  giveUp: ({ value }, { zone }) =>
    `It was to be sent until ${sayTime(Number(value), zone)} at the latest, and could not be.`,
  template: (verdict) => sayTemplateFault(readFault(verdict)),
  link: ({ about }) => `The mail does not link to ${sayValue(about)}, because it is not on a domain of this app.`,
}

export function sayTemplateFault(fault: TemplateFault): string {
  if ('broken' in fault) return `The mail could not be written: ${fault.broken}.`
  if ('empty' in fault) return 'The email would have had no text.'
  if ('slow' in fault) return 'The email took too long to render.'
  return fault.missing === 'subject'
    ? 'The subject would have been empty.'
    : `${fault.missing} had neither a value nor a fallback.`
}

const WISHES = new Map<unknown, string>([
  ['unsubscribed', 'had unsubscribed'],
  ['bounced', 'cannot be reached: a mail to this address bounced'],
  ['complained', 'had complained about a mail'],
])

const withTag = ({ value }: Verdict): string => (value === true ? 'without' : 'with')

const sayAsked = (rule: Rule | undefined): string =>
  rule?.rule === 'field' ? sayCompared(rule satisfies Compared) : 'something else'

function sayAway(verdict: Verdict, told: Told, rule: Rule | undefined): string {
  const name = sayName(told.person)
  const isThen = verdict.about === 'trigger'
  const [at, then] = isThen
    ? [told.triggeredAt, `at the time of ${sayTrigger(told.content)}`]
    : [told.at, 'when the mail was due']
  if (verdict.isUnknown) return sayUnseen(verdict, told)
  if (typeof verdict.value === 'string') return `${name} was on ${sayValue(verdict.value)} ${then}${needless(verdict)}.`
  if (typeof verdict.value !== 'number') {
    if (verdict.isEstimated) return `${name} had opened no page of yours for a while: they had left.`
    return isPass(verdict) ? `No report of ${name} for two days: they had left.` : `${name} was on your site ${then}.`
  }
  if (verdict.isSilent) return `No report of ${name} for ${saySilence(at - verdict.value, rule)}: they had left.`
  const span = saySpan(at - verdict.value)
  if (isPass(verdict)) return `${name} had left ${span} before.`
  const minutes = rule?.rule === 'away' ? (rule.minutes ?? 0) : 0
  return `${name} had left ${span} before, and this message goes only to who has been gone for ${saySpan(minutes * 60_000)}.`
}

/** The record only has the start of the silence. */
const saySilence = (ms: number, rule: Rule | undefined): string =>
  saySpan(rule?.rule === 'away' ? Math.max(ms, quietMsOf(rule)) : ms)

const needless = (verdict: Verdict): string => (isPass(verdict) ? '' : ', so this mail was not needed')

/** Never reported by the browser script. */
function sayUnseen(verdict: Verdict, told: Told): string {
  const found = `Your pages had not reported ${sayName(told.person)} yet`
  return isPass(verdict)
    ? `${found}, and this message is sent to such people too.`
    : `${found}, and this message is not sent to such people.`
}

function saySeen(verdict: Verdict, told: Told): string {
  const { about: path, value, rule } = verdict
  const name = sayName(told.person)
  if (path === null) {
    const sent = isPass(verdict) ? 'is sent then too' : 'is not sent then'
    return `${upperFirst(sayTrigger(told.content))} named no page of yours, so nobody knows whether ${name} opened it. This message ${sent}.`
  }
  if (verdict.isUnknown) return sayUnseen(verdict, told)
  if (typeof value !== 'number') {
    const found = `${name} had not opened ${sayValue(path)}`
    return rule === 'seen' && !isPass(verdict) ? `${found}, and this message asks for that.` : `${found}.`
  }
  const when =
    value <= told.triggeredAt
      ? `had ${sayValue(path)} open at the time of ${sayTrigger(told.content)}`
      : `was on ${sayValue(path)} ${sayAgo(value, told)}`
  return `${name} ${when}${needless(verdict)}.`
}

const upperFirst = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

function sayDone(verdict: Verdict, told: Told, rule: Rule | undefined): string {
  const name = sayName(told.person)
  const event = sayValue(verdict.about)
  if (typeof verdict.value === 'number')
    return `${event} came for ${name} on ${sayTime(verdict.value, told.zone)}${needless(verdict)}.`
  const found = `${event} had not come for ${name}${saySince(rule, told)}`
  return isPass(verdict) ? `${found}.` : `${found}, and this message asks for it.`
}

function saySince(rule: Rule | undefined, { content }: Told): string {
  if (rule?.rule !== 'done' && rule?.rule !== 'notDone') return ''
  const { since = 'trigger' } = rule
  if (since === 'ever') return ' at any time'
  return since === 'trigger' ? ` since ${sayTrigger(content)}` : ` in the ${since.days} days before`
}

function sayAgain(verdict: Verdict, told: Told): string {
  const name = sayName(told.person)
  if (verdict.value === null) return `${name} had not got this message before.`
  const last = `${name} last got this message on ${sayTime(Number(verdict.value), told.zone)}`
  return isPass(verdict)
    ? `${last}.`
    : `${last}, and it is sent at most every ${saySpan(Number(verdict.about) * 3_600_000)}.`
}

function sayLimit(verdict: Verdict, told: Told, span: string): string {
  const { about, value } = verdict
  const count = `${String(value)} lifecycle ${value === 1 ? 'email' : 'emails'}`
  const received = `${sayName(told.person)} had received ${count} within ${span}`
  return isPass(verdict) ? `${received}, and may get ${about}.` : `${received}, and this app sends at most ${about}.`
}

/** A page was open but silent since: it may be in use, or have crashed. */
const sayUnsure = (told: Told): string =>
  `A page was open at the time of ${sayTrigger(told.content)}, and nobody knows yet whether ${sayName(told.person)} was in front of it.`

/** For one event: the delivery's own, or a further one that the email lists. */
function sayVerdict(verdict: Verdict, told: Told, nth: number): string {
  if (verdict.eventAt === undefined) return sayFound(verdict, told, nth)
  const found = sayFound(verdict, { ...told, triggeredAt: verdict.eventAt }, nth)
  return `For the event on ${sayTime(verdict.eventAt, told.zone)}: ${found}`
}

/** Verdicts are in the message's order; a cancellation names one rule. */
function sayFound(verdict: Verdict, told: Told, nth: number): string {
  const rules = (told.content.onlyIf ?? []).filter((rule) => isAbout(rule, verdict))
  if (verdict.until !== undefined) return sayUnsure(told)
  const say = Object.hasOwn(VERDICT_WORDS, verdict.rule) ? VERDICT_WORDS[verdict.rule] : undefined
  return say?.(verdict, told, rules[nth] ?? rules[0]) ?? `${verdict.rule}: ${String(verdict.value)}.`
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

export const sayVerdicts = (verdicts: readonly Verdict[], told: Told): string[] =>
  verdicts.map((verdict, index) => {
    const before = verdicts.slice(0, index)
    return sayVerdict(
      verdict,
      told,
      before.filter(
        ({ rule, about, eventAt }) => rule === verdict.rule && about === verdict.about && eventAt === verdict.eventAt,
      ).length,
    )
  })
