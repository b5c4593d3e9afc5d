/** What the app's data lacks for the trigger and the rules of a message. */
import { formatCount } from '../core/count.ts'
import { readDate } from '../core/dates.ts'
import { findNearest } from '../core/nearest.ts'
import type { FieldError } from '../core/refusals.ts'
import { ownTimezone, TIMEZONE_FIELD } from '../people/timezone.ts'
import type { DateTrigger, MailSettings, MessageContent, Rule, Trigger } from '../store/message-types.ts'
import type { FieldValueCount } from '../store/contacts.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { sameValueOf } from './again.ts'
import { parseProperties } from './conditions.ts'
import { describeShare, type Tried } from './tried.ts'

/** People per field that are looked at. */
const CHECKED_PEOPLE = 2_000
/** Events with the name in a rule. */
const CHECKED_EVENTS = 100
const EXAMPLE_CHARACTERS = 40

type Checking = { store: Pick<Store, 'listFieldValues' | 'listEvents'>; app: Pick<AppRow, 'id'> }
/** `starts`: the newest events that trigger it, in the form of the store; none for other triggers. */
type Checked = Pick<MessageContent, 'trigger' | 'wait' | 'onlyIf'> & {
  settings: Pick<MailSettings, 'sendWindow'>
  starts: readonly { properties: string | null }[]
}

/** Each in one or two sentences, by the field of the message. None blocks going live. */
export async function warnOfData(checking: Checking, checked: Checked): Promise<FieldError[]> {
  const { trigger, onlyIf = [] } = checked
  const unzoned = usesTimezone(checked) ? await describeUnzoned(checking) : null
  return [
    ...(await warnOfDates(checking, trigger)),
    ...(unzoned === null ? [] : [warning('date' in trigger ? 'trigger.date' : 'wait', unzoned)]),
    ...(await Promise.all(onlyIf.map((rule, index) => warnOfSame(checking, checked, { rule, index })))).flat(),
  ]
}

const warning = (field: string, message: string): FieldError => ({ field, code: 'unfit_data', message })

/** `isAll`: nobody else has the field. */
type Values = { name: string; values: FieldValueCount[]; isAll: boolean }

const countPeople = (values: readonly FieldValueCount[]): number => values.reduce((sum, { people }) => sum + people, 0)

/** Without the empty ones. */
async function listValues({ store, app }: Checking, name: string): Promise<Values> {
  const found = await store.listFieldValues(app.id, { name, most: CHECKED_PEOPLE })
  const values = found.filter(({ value }) => value.trim() !== '')
  return { name, values, isAll: countPeople(found) < CHECKED_PEOPLE }
}

/** A number of Unix time may have a fraction. */
const isDate = (value: string): boolean => readDate(value, 'UTC') !== undefined || /^-?\d+\.\d+$/.test(value)

/** Why people of this app don't trigger a message by their date; null: all do, or it has another trigger. */
export async function describeUndated(
  checking: Checking,
  trigger: Trigger | Pick<DateTrigger, 'date'>,
): Promise<string | null> {
  if (!('date' in trigger) || trigger.date === '') return null
  const found = await listValues(checking, trigger.date)
  if (found.values.length === 0) return `No person has \`fields.${trigger.date}\` yet.`
  const wrong = describeWrong(found, 'a date', isDate)
  return wrong && `${wrong} They don't trigger this message.`
}

export async function warnOfDates(checking: Checking, trigger: Parameters<typeof describeUndated>[1]) {
  const undated = await describeUndated(checking, trigger)
  return undated === null ? [] : [warning('trigger.date', undated)]
}

/** Where local time decides when an email is sent. */
const usesTimezone = ({ trigger, wait, settings }: Checked): boolean =>
  'date' in trigger || (wait !== undefined && 'until' in wait) || settings.sendWindow !== null

const isTimezone = (value: string): boolean => ownTimezone({ [TIMEZONE_FIELD]: value }) !== null

async function describeUnzoned(checking: Checking): Promise<string | null> {
  const wrong = describeWrong(await listValues(checking, TIMEZONE_FIELD), 'a timezone', isTimezone)
  return wrong && `${wrong} Valid names look like Europe/Berlin. The app's timezone is used instead.`
}

/** With the most frequent wrong value; null: there is none. */
function describeWrong({ name, values, isAll }: Values, what: string, isRight: (value: string) => boolean) {
  const wrong = values.filter(({ value }) => !isRight(value)).toSorted((a, b) => b.people - a.people)
  const [first] = wrong
  if (first === undefined) return null
  const [count, { value }] = [countPeople(wrong), first]
  const who = `${isAll ? '' : 'At least '}${count === 1 ? '1 person has' : `${formatCount(count)} people have`}`
  const isCut = value.length > EXAMPLE_CHARACTERS
  const example = isCut ? `${value.slice(0, EXAMPLE_CHARACTERS).toWellFormed()}\u2026` : value
  return `${who} a value in \`fields.${name}\` that is not ${what}, such as "${example.replaceAll('`', "'")}".`
}

/** A rule that compares a property which the events don't have. */
async function warnOfSame(
  checking: Checking,
  { starts }: Checked,
  { rule, index }: { rule: Rule; index: number },
): Promise<FieldError[]> {
  if (!('same' in rule) || rule.same === undefined) return []
  const { same, event } = rule
  const at = `onlyIf[${index}].same`
  const own = starts.map(({ properties }) => parseProperties(properties))
  const lacking = own.filter((properties) => sameValueOf(properties, same) === null)
  if (lacking.length > 0) {
    const tried: Pick<Tried, 'tried' | 'what'> = { tried: own.length, what: 'events' }
    const message = `\`${same}\` is missing ${describeShare(lacking.length, tried)}, so no \`${event}\` event matches.`
    return [warning(at, message + propose(same, own))]
  }
  const query = { appId: checking.app.id, contactId: null, name: event, before: null, limit: CHECKED_EVENTS }
  const others = (await checking.store.listEvents(query)).rows.map(({ properties }) => parseProperties(properties))
  const isKnown = others.length === 0 || others.some((properties) => sameValueOf(properties, same) !== null)
  return isKnown ? [] : [warning(at, `No \`${event}\` event has \`${same}\` yet.${propose(same, others)}`)]
}

/** A property with a similar name, where none has this one. */
function propose(name: string, all: readonly Record<string, unknown>[]): string {
  const names = [...new Set(all.flatMap((properties) => Object.keys(properties)))]
  const near = names.includes(name) ? undefined : findNearest(name, names)
  return near === undefined ? '' : ` Did you mean \`${near}\`?`
}
