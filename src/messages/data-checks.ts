/** Checks whether the app's data fits the trigger and the rules of a message. */
import { formatCount } from '../core/count.ts'
import { readDate } from '../core/dates.ts'
import { findNearest } from '../core/nearest.ts'
import type { FieldError } from '../core/refusals.ts'
import { ownTimezone, TIMEZONE_FIELD } from '../people/timezone.ts'
import type { DateTrigger, MailSettings, MessageContent, Rule, Trigger } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { sameValueOf } from './again.ts'
import { parseProperties } from './conditions.ts'
import { describeShare, type Tried } from './tried.ts'

/**
 * Values per field that are looked at, from each end: dates in other formats, and words, sort before or after the others.
 * The people who have a wrong one are counted up to a limit. With a million people, both take 16 ms (measured).
 */
const CHECKED_VALUES = 1_000
const COUNTED_PEOPLE = 10_000
/** Events with the name in a rule. */
const CHECKED_EVENTS = 100
const EXAMPLE_CHARACTERS = 40

type Checking = { store: Pick<Store, 'listFieldValues' | 'countFieldPeople' | 'listEvents'>; app: Pick<AppRow, 'id'> }
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

const warning = (field: string, message: string, code = 'unfit_data'): FieldError => ({ field, code, message })

/** Code of the warning about people whose value is not a date. */
export const NOT_A_DATE = 'not_a_date'

type Asked = { name: string; what: string; isRight: (value: string) => boolean }

/** A number of Unix time may have a fraction. */
const isDate = (value: string): boolean => readDate(value, 'UTC') !== undefined || /^-?\d+\.\d+$/.test(value)

/** Why people of this app don't trigger a message by their date; null: all do, or it has another trigger. */
export const describeUndated = async (checking: Checking, trigger: Dated): Promise<string | null> =>
  (await findUndated(checking, trigger))?.says ?? null

type Dated = Trigger | Pick<DateTrigger, 'date'>

async function findUndated(checking: Checking, trigger: Dated): Promise<{ says: string; code?: string } | null> {
  if (!('date' in trigger) || trigger.date === '') return null
  const { isEmpty, wrong } = await findWrong(checking, { name: trigger.date, what: 'a date', isRight: isDate })
  if (isEmpty) return { says: `No person has \`fields.${trigger.date}\` yet.` }
  return wrong === null ? null : { says: `${wrong} They don't trigger this message.`, code: NOT_A_DATE }
}

export async function warnOfDates(checking: Checking, trigger: Dated) {
  const undated = await findUndated(checking, trigger)
  return undated === null ? [] : [warning('trigger.date', undated.says, undated.code)]
}

/** Where local time decides when an email is sent. */
const usesTimezone = ({ trigger, wait, settings }: Checked): boolean =>
  'date' in trigger || (wait !== undefined && 'until' in wait) || settings.sendWindow !== null

const isTimezone = (value: string): boolean => ownTimezone({ [TIMEZONE_FIELD]: value }) !== null

async function describeUnzoned(checking: Checking): Promise<string | null> {
  const { wrong } = await findWrong(checking, { name: TIMEZONE_FIELD, what: 'a timezone', isRight: isTimezone })
  return wrong && `${wrong} Valid names look like Europe/Berlin. The app's timezone is used instead.`
}

/** `isEmpty`: nobody has a value. `wrong`: who has a wrong one, with the most frequent; null: nobody known. */
async function findWrong({ store, app }: Checking, { name, what, isRight }: Asked) {
  const found = await store.listFieldValues(app.id, { name, most: CHECKED_VALUES })
  const filled = found.values.filter((value) => value.trim() !== '')
  const values = filled.filter((value) => !isRight(value))
  if (values.length === 0) return { isEmpty: filled.length === 0, wrong: null }
  const counts = await store.countFieldPeople(app.id, { name, values, most: COUNTED_PEOPLE })
  const [first] = counts.toSorted((a, b) => b.people - a.people)
  if (first === undefined) return { isEmpty: false, wrong: null }
  const count = counts.reduce((sum, { people }) => sum + people, 0)
  const isAll = found.isAll && count < COUNTED_PEOPLE
  const who = `${isAll ? '' : 'At least '}${count === 1 ? '1 person has' : `${formatCount(count)} people have`}`
  return {
    isEmpty: false,
    wrong: `${who} a value in \`fields.${name}\` that is not ${what}, for example "${shorten(first.value)}".`,
  }
}

function shorten(value: string): string {
  const isCut = value.length > EXAMPLE_CHARACTERS
  const example = isCut ? `${value.slice(0, EXAMPLE_CHARACTERS).toWellFormed()}\u2026` : value
  return example.replaceAll('`', "'")
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
    const message = `\`${same}\` is missing ${describeShare(lacking.length, tried)}. No \`${event}\` event matches in that case.`
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
