/** What the app's data lacks for the trigger and the rules of a message. */
import { formatCount } from '../core/count.ts'
import { readDate } from '../core/dates.ts'
import { findNearest } from '../core/nearest.ts'
import type { FieldError } from '../core/refusals.ts'
import { ownTimezone, TIMEZONE_FIELD } from '../people/timezone.ts'
import type { MailSettings, MessageContent, Rule } from '../store/message-types.ts'
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
  const undated = await describeUndated(checking, checked)
  const unzoned = usesTimezone(checked) ? await describeUnzoned(checking) : null
  return [
    ...(undated === null ? [] : [warning('trigger.date', undated)]),
    ...(unzoned === null ? [] : [warning('date' in trigger ? 'trigger.date' : 'wait', unzoned)]),
    ...(await Promise.all(onlyIf.map((rule, index) => warnOfSame(checking, checked, { rule, index })))).flat(),
  ]
}

const warning = (field: string, message: string): FieldError => ({ field, code: 'unfit_data', message })

/** Without the empty ones. */
async function listValues({ store, app }: Checking, name: string) {
  const values = await store.listFieldValues(app.id, { name, most: CHECKED_PEOPLE })
  return values.filter(({ value }) => value.trim() !== '')
}

/** A number of Unix time may have a fraction. */
const isDate = (value: string): boolean => readDate(value, 'UTC') !== undefined || /^-?\d+\.\d+$/.test(value)

/** Why people of this app don't trigger a message by their date; null: all do, or it has another trigger. */
export async function describeUndated(
  checking: Checking,
  { trigger }: Pick<Checked, 'trigger'>,
): Promise<string | null> {
  if (!('date' in trigger)) return null
  const values = await listValues(checking, trigger.date)
  if (values.length === 0) return `No person has \`fields.${trigger.date}\` yet.`
  const wrong = values.filter(({ value }) => !isDate(value))
  return wrong.length === 0 ? null : `${describeWrong(wrong, trigger.date, 'a date')} They don't trigger this message.`
}

/** Where local time decides when an email is sent. */
const usesTimezone = ({ trigger, wait, settings }: Checked): boolean =>
  'date' in trigger || (wait !== undefined && 'until' in wait) || settings.sendWindow !== null

async function describeUnzoned(checking: Checking): Promise<string | null> {
  const values = await listValues(checking, TIMEZONE_FIELD)
  const wrong = values.filter(({ value }) => ownTimezone({ [TIMEZONE_FIELD]: value }) === null)
  return wrong.length === 0
    ? null
    : `${describeWrong(wrong, TIMEZONE_FIELD, 'a timezone')} Valid names look like Europe/Berlin. The app's timezone is used instead.`
}

/** With the most frequent one. */
function describeWrong(values: readonly FieldValueCount[], name: string, what: string): string {
  const [{ value } = { value: '' }] = values.toSorted((a, b) => b.people - a.people)
  const count = values.reduce((sum, { people }) => sum + people, 0)
  const isCut = value.length > EXAMPLE_CHARACTERS
  const example = isCut ? `${value.slice(0, EXAMPLE_CHARACTERS).toWellFormed()}\u2026` : value
  const who = count === 1 ? '1 person has' : `${formatCount(count)} people have`
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
