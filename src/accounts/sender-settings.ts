import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { MailSettings, SendWindow } from '../store/message-types.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { describeInvalidEmail, describeInvalidLine, readEmail } from '../core/email.ts'
import { formatLimit, readWholeNumber } from '../core/count.ts'
import type { FieldError } from '../core/refusals.ts'
import { cleanText } from '../core/visible-text.ts'

export type { MailSettings }

/** 0 is Sunday. */
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const

const FROM_FIELDS = [
  'fromName',
  'fromEmail',
  'otherFromEmails',
  'replyTo',
  'postalAddress',
  'logoUrl',
  'colour',
] as const

export type FromText = Record<(typeof FROM_FIELDS)[number], string>

const LIMITS_FIELDS = [
  'perSecond',
  'connections',
  'giveUpHours',
  'perPersonDay',
  'perPersonWeek',
  'windowFrom',
  'windowUntil',
] as const

export type LimitsText = Record<(typeof LIMITS_FIELDS)[number], string> & { days: number[] }

const BRAKE_FIELDS = ['complaintLimit', 'bounceLimit'] as const

export type BrakeText = Record<(typeof BRAKE_FIELDS)[number], string>

type BrakeSettings = Pick<MailSettings, (typeof BRAKE_FIELDS)[number]>
type FromSettings = Pick<MailSettings, (typeof FROM_FIELDS)[number]>
type LimitsSettings = Pick<MailSettings, (typeof SENDER_FORMS.limits)[number]>

/** The settings that each form of Sender saves. */
const SENDER_FORMS = {
  from: FROM_FIELDS,
  layout: ['layout'],
  texts: ['texts'],
  server: ['smtpUrl'],
  limits: ['perSecond', 'connections', 'giveUpHours', 'perPersonDay', 'perPersonWeek', 'sendWindow'],
  brake: BRAKE_FIELDS,
  dkim: ['dkimDomain', 'dkimSelector', 'dkimKey'],
  reports: ['bounceSecret'],
  webhooks: ['hookSecrets'],
  optIn: ['optIn'],
} as const satisfies Record<string, readonly (keyof MailSettings)[]>

export type SenderForm = keyof typeof SENDER_FORMS

export const pickForm = (form: SenderForm, settings: MailSettings): Partial<MailSettings> =>
  Object.fromEntries(SENDER_FORMS[form].map((name) => [name, settings[name]]))

export const readFromText = (text: (name: string) => string): FromText =>
  Object.fromEntries(FROM_FIELDS.map((name) => [name, text(name)])) as FromText

export const readLimitsText = (text: (name: string) => string): LimitsText => ({
  ...(Object.fromEntries(LIMITS_FIELDS.map((name) => [name, text(name)])) as Omit<LimitsText, 'days'>),
  days: WEEK.filter((day) => text(`day${day}`) !== ''),
})

export const readBrakeText = (text: (name: string) => string): BrakeText => ({
  complaintLimit: text('complaintLimit'),
  bounceLimit: text('bounceLimit'),
})

const say = (value: string | number | null): string => (value === null ? '' : String(value))

const ALL_DAY = { from: '00:00', until: '24:00' }

const writeHours = (window: SendWindow | null): Pick<LimitsText, 'windowFrom' | 'windowUntil'> =>
  window === null || (window.from === ALL_DAY.from && window.until === ALL_DAY.until)
    ? { windowFrom: '', windowUntil: '' }
    : { windowFrom: window.from, windowUntil: window.until }

export const writeFrom = (settings: FromSettings): FromText => ({
  fromName: say(settings.fromName),
  fromEmail: say(settings.fromEmail),
  otherFromEmails: (settings.otherFromEmails ?? []).join('\n'),
  replyTo: say(settings.replyTo),
  postalAddress: say(settings.postalAddress),
  logoUrl: say(settings.logoUrl),
  colour: say(settings.colour),
})

export const writeLimits = (settings: LimitsSettings): LimitsText => ({
  perSecond: say(settings.perSecond),
  connections: say(settings.connections),
  giveUpHours: say(settings.giveUpHours),
  perPersonDay: say(settings.perPersonDay),
  perPersonWeek: say(settings.perPersonWeek),
  ...writeHours(settings.sendWindow),
  days: settings.sendWindow?.days ?? [...WEEK],
})

export const writeBrake = (settings: BrakeSettings): BrakeText => ({
  complaintLimit: say(settings.complaintLimit),
  bounceLimit: say(settings.bounceLimit),
})

type Read<Text = unknown> = { text: Text; errors: FieldError[] }
const fault = ({ errors }: Read, field: string, message: string): null => {
  errors.push({ field, code: 'invalid', message })
  return null
}

function readLine(read: Read<FromText>, field: keyof FromText, most: number): string | null {
  const line = read.text[field].trim()
  if (line === '') return null
  if (line.length > most || cleanText(line) !== line) {
    return fault(read, field, `Enter one line of up to ${most} characters.`)
  }
  return line
}

function readAddress(read: Read<FromText>, field: keyof FromText): string | null {
  const text = read.text[field].trim()
  if (text === '') return null
  const wrong = () => describeInvalidEmail(text, 'Enter one email address, such as hello@example.com.')
  return readEmail(text)?.email ?? fault(read, field, wrong())
}

const MOST_ADDRESSES = 100

function readAddresses(read: Read<FromText>, fromEmail: string | null): string[] | null {
  const lines = read.text.otherFromEmails.split(/\r?\n/).flatMap((line) => line.trim() || [])
  const emails = lines.map((line) => readEmail(line)?.email)
  const wrong = emails.indexOf(undefined)
  if (wrong >= 0) return fault(read, 'otherFromEmails', describeInvalidLine(wrong + 1, lines[wrong] ?? ''))
  if (lines.length > MOST_ADDRESSES) return fault(read, 'otherFromEmails', `Enter up to ${MOST_ADDRESSES} addresses.`)
  const others = new Set(emails.filter((email) => email !== undefined && email !== fromEmail))
  return others.size === 0 ? null : ([...others] as string[])
}

function readPostal(read: Read<FromText>): string | null {
  const lines = read.text.postalAddress.split(/\r?\n/).flatMap((line) => cleanText(line) ?? [])
  const most = 300
  if (lines.join('\n').length > most) return fault(read, 'postalAddress', `Enter up to ${most} characters.`)
  return lines.length === 0 ? null : lines.join('\n')
}

function readLogo(read: Read<FromText>): string | null {
  const text = read.text.logoUrl.trim()
  if (text === '') return null
  const url = URL.parse(text)
  const isFit = url?.protocol === 'https:' && url.username === '' && url.password === '' && text.length <= 1_000
  return isFit ? url.href : fault(read, 'logoUrl', 'Enter an image URL that starts with https://.')
}

const LAYOUT_CHARACTERS = 50_000

/** null: the default layout. Whether it can be used is for the template thread to say. */
export function readLayout(text: string, standard: string): Reading<Pick<MailSettings, 'layout'>> {
  const layout = text.replaceAll('\r\n', '\n').trim()
  const message = `Enter up to ${formatLimit(LAYOUT_CHARACTERS)} characters.`
  if (layout.length > LAYOUT_CHARACTERS) return { errors: [{ field: 'layout', code: 'invalid', message }] }
  return { settings: { layout: layout === '' || layout === standard.trim() ? null : layout } }
}

function readColour(read: Read<FromText>): string | null {
  const text = read.text.colour.trim().toLowerCase()
  if (text === '') return null
  const colour = /^#[0-9a-f]{3}$/.test(text) ? text.replaceAll(/[0-9a-f]/g, '$&$&') : text
  return /^#[0-9a-f]{6}$/.test(colour) ? colour : fault(read, 'colour', 'Enter a colour such as #2b4acb.')
}

function readWhole(read: Read<LimitsText>, field: Exclude<keyof LimitsText, 'days'>, most: number): number | null {
  const text = read.text[field].trim()
  if (text === '') return null
  const value = readWholeNumber(text)
  return value >= 1 && value <= most
    ? value
    : fault(read, field, `Enter a whole number from 1 to ${formatLimit(most)}.`)
}

function readPercent(read: Read<BrakeText>, field: keyof BrakeText): number | null {
  const text = read.text[field].trim().replace(/\s?%$/, '')
  if (text === '') return null
  const value = /^\d{1,3}(?:\.\d{1,2})?$/.test(text) ? Number(text) : 0
  return value > 0 && value <= 100 ? value : fault(read, field, 'Enter a percentage from 0.01 to 100.')
}

/** At a mail server, per login. */
export const MOST_CONNECTIONS = 10

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/

/** Without times, any hour of the selected days. All days without times is no window. */
function readWindow(read: Read<LimitsText>): SendWindow | null {
  const { days } = read.text
  const [from, until] = [read.text.windowFrom.trim(), read.text.windowUntil.trim()]
  if (days.length === 0) return fault(read, 'days', 'Choose at least one day.')
  if (from === '' && until === '') return days.length === WEEK.length ? null : { days, ...ALL_DAY }
  if (!TIME.test(from)) return fault(read, 'windowFrom', 'Enter a time of day, such as 09:00.')
  if (!TIME.test(until)) return fault(read, 'windowUntil', 'Enter a time of day, such as 17:00.')
  if (from === until) return fault(read, 'windowUntil', 'Enter a time other than the start.')
  return { days, from, until }
}

/** Errors are in the order of the form's fields. */
type Reading<Settings> = { settings: Settings } | { errors: FieldError[] }

const readingOf = <Settings>({ errors }: Read, settings: Settings): Reading<Settings> =>
  errors.length > 0 ? { errors } : { settings }

export function readFrom(text: FromText): Reading<FromSettings> {
  const read = { text, errors: [] }
  const fromName = readLine(read, 'fromName', 64)
  const fromEmail = readAddress(read, 'fromEmail')
  return readingOf(read, {
    fromName,
    fromEmail,
    replyTo: readAddress(read, 'replyTo'),
    otherFromEmails: readAddresses(read, fromEmail),
    logoUrl: readLogo(read),
    colour: readColour(read),
    postalAddress: readPostal(read),
  })
}

export function readLimits(text: LimitsText): Reading<LimitsSettings> {
  const read = { text, errors: [] }
  return readingOf(read, {
    sendWindow: readWindow(read),
    perPersonDay: readWhole(read, 'perPersonDay', 100),
    perPersonWeek: readWhole(read, 'perPersonWeek', 500),
    perSecond: readWhole(read, 'perSecond', 1_000),
    connections: readWhole(read, 'connections', MOST_CONNECTIONS),
    giveUpHours: readWhole(read, 'giveUpHours', 720),
  })
}

export function readBrake(text: BrakeText): Reading<BrakeSettings> {
  const read = { text, errors: [] }
  return readingOf(read, {
    complaintLimit: readPercent(read, 'complaintLimit'),
    bounceLimit: readPercent(read, 'bounceLimit'),
  })
}

export const saveSender = (
  { store, clock }: { store: Store; clock: Clock },
  { id: appId, accountId }: AppRow,
  { actor, ...change }: { settings: Partial<MailSettings>; basedOn: Partial<MailSettings>; actor: string },
): Promise<{ done: true } | Refused> => store.setMailSettings({ accountId, appId, actor, at: clock.now(), ...change })
