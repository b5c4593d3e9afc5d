import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { MailSettings, SendWindow } from '../store/message-types.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { readEmail } from '../core/email.ts'
import { readSmtpUrl, SMTP_URL_MESSAGE } from '../core/mail-addresses.ts'
import type { FieldError } from '../core/refusals.ts'
import { cleanText } from '../core/visible-text.ts'

export type { MailSettings }

/** 0 is Sunday. */
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const

const WORDS = [
  'fromName',
  'fromEmail',
  'otherFromEmails',
  'replyTo',
  'postalAddress',
  'logoUrl',
  'colour',
  'smtpUrl',
  'perSecond',
  'perPersonDay',
  'perPersonWeek',
  'windowFrom',
  'windowUntil',
  'giveUpHours',
] as const
type Word = (typeof WORDS)[number]

/** An empty `smtpUrl` keeps the stored one, unless `dropsSmtp` is set. */
export type SenderText = Record<Word, string> & { days: number[]; dropsSmtp: boolean }

/** DKIM and the bounce secret have forms of their own. */
export type SenderSettings = Partial<
  Omit<MailSettings, 'dkimDomain' | 'dkimSelector' | 'dkimKey' | 'bounceSecret' | 'timezone' | 'locale'>
>

/** The settings that each form of the Sender page saves. */
const SENDER_FORMS = {
  sender: [
    'fromName',
    'fromEmail',
    'otherFromEmails',
    'replyTo',
    'postalAddress',
    'logoUrl',
    'colour',
    'smtpUrl',
    'perSecond',
    'giveUpHours',
    'perPersonDay',
    'perPersonWeek',
    'sendWindow',
  ],
  dkim: ['dkimDomain', 'dkimSelector', 'dkimKey'],
  reports: ['bounceSecret'],
} as const satisfies Record<string, (keyof MailSettings)[]>

export type SenderForm = keyof typeof SENDER_FORMS

export const pickForm = (form: SenderForm, settings: MailSettings): Partial<MailSettings> =>
  Object.fromEntries(SENDER_FORMS[form].map((name) => [name, settings[name]]))

export const readSenderText = (text: (name: string) => string): SenderText => ({
  ...(Object.fromEntries(WORDS.map((name) => [name, text(name)])) as Record<Word, string>),
  days: WEEK.filter((day) => text(`day${day}`) !== ''),
  dropsSmtp: text('dropsSmtp') !== '',
})

const say = (value: string | number | null): string => (value === null ? '' : String(value))

const ALL_DAY = { from: '00:00', until: '24:00' }

const writeHours = (window: SendWindow | null): Pick<SenderText, 'windowFrom' | 'windowUntil'> =>
  window === null || (window.from === ALL_DAY.from && window.until === ALL_DAY.until)
    ? { windowFrom: '', windowUntil: '' }
    : { windowFrom: window.from, windowUntil: window.until }

/** Never shows the mail server's URL, which holds a password. */
export const writeSender = (settings: MailSettings): SenderText => ({
  fromName: say(settings.fromName),
  fromEmail: say(settings.fromEmail),
  otherFromEmails: (settings.otherFromEmails ?? []).join('\n'),
  replyTo: say(settings.replyTo),
  postalAddress: say(settings.postalAddress),
  logoUrl: say(settings.logoUrl),
  colour: say(settings.colour),
  smtpUrl: '',
  perSecond: say(settings.perSecond),
  perPersonDay: say(settings.perPersonDay),
  perPersonWeek: say(settings.perPersonWeek),
  ...writeHours(settings.sendWindow),
  giveUpHours: say(settings.giveUpHours),
  days: settings.sendWindow?.days ?? [...WEEK],
  dropsSmtp: false,
})

/** `smtps://user:…@host:465` */
export function maskSmtpUrl(text: string): string {
  const server = readSmtpUrl(text)
  if (!server) return 'an address that cannot be read'
  const login = server.login === null ? '' : `${encodeURIComponent(server.login.user)}:…@`
  const option = server.isTlsOptional ? '?tls=optional' : ''
  return `${server.isSecure ? 'smtps' : 'smtp'}://${login}${server.host}:${server.port}${option}`
}

type Read = { text: SenderText; errors: FieldError[] }
const fault = ({ errors }: Read, field: string, message: string): null => {
  errors.push({ field, code: 'invalid', message })
  return null
}

function readLine(read: Read, field: Word, most: number): string | null {
  const line = read.text[field].trim()
  if (line === '') return null
  if (line.length > most || cleanText(line) !== line) {
    return fault(read, field, `Give one line of up to ${most} characters.`)
  }
  return line
}

function readAddress(read: Read, field: Word): string | null {
  const text = read.text[field].trim()
  if (text === '') return null
  return readEmail(text)?.email ?? fault(read, field, 'Give one plain email address, such as hello@example.com.')
}

const MOST_ADDRESSES = 100

function readAddresses(read: Read, fromEmail: string | null): string[] | null {
  const lines = read.text.otherFromEmails.split(/\r?\n/).flatMap((line) => line.trim() || [])
  const emails = lines.map((line) => readEmail(line)?.email)
  const wrong = emails.indexOf(undefined)
  if (wrong >= 0) return fault(read, 'otherFromEmails', `Line ${wrong + 1} is not an email address.`)
  if (lines.length > MOST_ADDRESSES) return fault(read, 'otherFromEmails', `Give up to ${MOST_ADDRESSES} addresses.`)
  const others = new Set(emails.filter((email) => email !== undefined && email !== fromEmail))
  return others.size === 0 ? null : ([...others] as string[])
}

function readPostal(read: Read): string | null {
  const lines = read.text.postalAddress.split(/\r?\n/).flatMap((line) => cleanText(line) ?? [])
  const most = 300
  if (lines.join('\n').length > most) return fault(read, 'postalAddress', `Give up to ${most} characters.`)
  return lines.length === 0 ? null : lines.join('\n')
}

function readLogo(read: Read): string | null {
  const text = read.text.logoUrl.trim()
  if (text === '') return null
  const url = URL.parse(text)
  const isFit = url?.protocol === 'https:' && url.username === '' && url.password === '' && text.length <= 1_000
  return isFit ? url.href : fault(read, 'logoUrl', 'Give the address of a picture that begins with https://.')
}

function readColour(read: Read): string | null {
  const text = read.text.colour.trim().toLowerCase()
  if (text === '') return null
  return /^#[0-9a-f]{6}$/.test(text) ? text : fault(read, 'colour', 'Give a colour such as #2b4acb.')
}

function readWhole(read: Read, field: Word, most: number): number | null {
  const text = read.text[field].trim()
  if (text === '') return null
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= most ? value : fault(read, field, `Give a whole number from 1 to ${most}.`)
}

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/

/** Without times, any hour of the selected days. All days without times is no window. */
function readWindow(read: Read): SendWindow | null {
  const { days } = read.text
  const [from, until] = [read.text.windowFrom.trim(), read.text.windowUntil.trim()]
  if (days.length === 0) return fault(read, 'days', 'Choose at least one day.')
  if (from === '' && until === '') return days.length === WEEK.length ? null : { days, ...ALL_DAY }
  if (!TIME.test(from)) return fault(read, 'windowFrom', 'Give a time of day, such as 09:00.')
  if (!TIME.test(until)) return fault(read, 'windowUntil', 'Give a time of day, such as 17:00.')
  if (from === until) return fault(read, 'windowUntil', 'Give a time other than the start.')
  return { days, from, until }
}

function readSmtp(read: Read): { smtpUrl?: string | null } {
  const text = read.text.smtpUrl.trim()
  if (text === '') return read.text.dropsSmtp ? { smtpUrl: null } : {}
  return { smtpUrl: readSmtpUrl(text) ? text : fault(read, 'smtpUrl', SMTP_URL_MESSAGE) }
}

export function readSender(text: SenderText): { settings: SenderSettings } | { errors: FieldError[] } {
  const read: Read = { text, errors: [] }
  const fromEmail = readAddress(read, 'fromEmail')
  const settings: SenderSettings = {
    fromName: readLine(read, 'fromName', 64),
    fromEmail,
    otherFromEmails: readAddresses(read, fromEmail),
    replyTo: readAddress(read, 'replyTo'),
    postalAddress: readPostal(read),
    logoUrl: readLogo(read),
    colour: readColour(read),
    ...readSmtp(read),
    perSecond: readWhole(read, 'perSecond', 1_000),
    perPersonDay: readWhole(read, 'perPersonDay', 100),
    perPersonWeek: readWhole(read, 'perPersonWeek', 500),
    sendWindow: readWindow(read),
    giveUpHours: readWhole(read, 'giveUpHours', 720),
  }
  return read.errors.length > 0 ? { errors: read.errors } : { settings }
}

export const saveSender = (
  { store, clock }: { store: Store; clock: Clock },
  { id: appId, accountId }: AppRow,
  { actor, ...change }: { settings: Partial<MailSettings>; basedOn: Partial<MailSettings>; actor: string },
): Promise<{ done: true } | Refused> => store.setMailSettings({ accountId, appId, actor, at: clock.now(), ...change })
