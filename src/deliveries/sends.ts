/** POST /send: one email to one person at once, of a message or with a text of its own. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { Access, AppRow } from '../accounts/access.ts'
import { findFrom, type Senders } from '../accounts/senders.ts'
import type { WriteContext } from '../accounts/write-limits.ts'
import type { Clock } from '../core/clock.ts'
import { readEmail } from '../core/email.ts'
import * as fields from '../core/field-schemas.ts'
import { readPublicId } from '../core/ids.ts'
import * as inputs from '../core/inputs.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields, type Warning } from '../core/refusals.ts'
import { CREATE_CONTACT, PROPERTIES, readProperties } from '../events/event-input.ts'
import { findTemplateFaults, proposeFallback } from '../messages/message-checks.ts'
import { MAX_NAME_CHARACTERS, MessageSchema } from '../messages/message-schema.ts'
import { findVariant } from '../messages/mail-texts.ts'
import { mailFactsOf, mailTemplateOf, type RenderedMail } from '../messages/mailer.ts'
import { makeNewPerson } from '../messages/message-samples.ts'
import { describeTemplateFault, readMissing, type TemplateFault } from '../messages/template-faults.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { Mail, MessageRow, OwnMail, SentMail } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { Refused, StoredContact } from '../store/types.ts'

export type { SentMail }

const TEXTS = MessageSchema.properties.mail.properties

/** One of a message's texts, described. */
const described = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description })

const EITHER = 'Send either `message`, or `subject` and `body`.'

const MESSAGE = Type.String({
  description: 'The ID, `msg_...`, or the name of a live message with the trigger `api`.',
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  say: { missing: EITHER, invalid: 'Send the ID or the name of a message.' },
})

/** What a text of its own consists of. */
const OWN_TEXT = {
  subject: Type.Optional(described(TEXTS.subject, 'Without `message`: the subject, in Liquid.')),
  body: described({ ...TEXTS.body, minLength: 1 }, 'Without `message`: the text, in Markdown with Liquid.'),
  html: described(TEXTS.html, 'Without `message`: HTML. `body` is then its plain text.'),
  preheader: described(TEXTS.preheader, 'Without `message`: the preview text.'),
  fromName: described(TEXTS.fromName, "Without `message`: the sender name. Default: the app's."),
  fromEmail: described(TEXTS.fromEmail, "Without `message`: the sender address. Default: the app's."),
  replyTo: described(TEXTS.replyTo, "Without `message`: where replies go. Default: the app's."),
}

export const SendInput = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    email: fields.EMAIL,
    message: Type.Optional(MESSAGE),
    ...OWN_TEXT,
    properties: Type.Optional(described(PROPERTIES, 'Values for `{{ event.NAME }}`. JSON under 2 KB.')),
    createContact: Type.Optional(CREATE_CONTACT),
    firstName: Type.Optional(fields.nameField('First name. For a known person, it only fills in an empty name.')),
    lastName: Type.Optional(fields.nameField('Last name. For a known person, it only fills in an empty name.')),
  },
  { title: 'SendInput', description: 'One email to one person.', ...fields.EITHER_APP_NAME },
)

export type SendFields = {
  app: string
  /** Identity form; `emailShown` is as it was sent. */
  email: string
  emailShown: string
  /** JSON */
  properties: string | null
  createContact: boolean
  firstName: string | null
  lastName: string | null
} & ({ message: string; mail: null } | { message: null; mail: Mail })

type Sent = Static<typeof SendInput>

const OWN_NAMES = Object.keys(OWN_TEXT) as (keyof typeof OWN_TEXT)[]

/** Exactly one of a message and a text, and a text is whole. */
function findChoiceFault(message: unknown, body: inputs.Body): inputs.Fault | null {
  const own = OWN_NAMES.filter((name) => body[name] !== undefined)
  if (message !== undefined) return own.length === 0 ? null : { code: 'conflict', message: EITHER, field: own[0] }
  if (own.length === 0) return inputs.faultOf(MESSAGE, 'missing', message)
  const lacked = body.subject === undefined ? 'subject' : (body.body ?? body.html) === undefined ? 'body' : undefined
  return lacked === undefined ? null : { code: 'missing', message: LACKED[lacked], field: lacked }
}

const LACKED = {
  subject: 'Send a `subject` together with `body` or `html`, or name a `message`.',
  body: 'Send a `body` or `html` together with `subject`, or name a `message`.',
} as const

const findAddressFault = (value: unknown): inputs.Fault | null =>
  typeof value === 'string' && !readEmail(value) ? inputs.faultOf(TEXTS.replyTo, 'invalid', value) : null

function findPropertiesFault(value: unknown): inputs.Fault | null {
  const read = value === undefined ? null : readProperties(value as object, null)
  return inputs.isFault(read) ? read : null
}

const RULES: inputs.Rules = {
  ...fields.appRules(SendInput),
  email: fields.emailRule,
  message: findChoiceFault,
  fromEmail: findAddressFault,
  replyTo: findAddressFault,
  properties: findPropertiesFault,
}

const read = inputs.createReader({ schema: SendInput, clean: cleanSend, rules: () => RULES })

function cleanSend(sent: Sent): SendFields | null {
  const app = fields.findAppId(sent)
  const address = readEmail(sent.email)
  const isRefused = Object.entries(RULES).some(([name, rule]) => rule(sent[name as keyof Sent], sent) !== null)
  if (app === null || address === null || isRefused) return null
  const { message, properties, createContact = false, firstName, lastName } = sent
  return {
    app,
    email: address.email,
    emailShown: address.shown,
    properties: properties === undefined ? null : JSON.stringify(properties),
    createContact,
    firstName: firstName || null,
    lastName: lastName || null,
    ...(message === undefined ? { message: null, mail: readMail(sent) } : { message, mail: null }),
  }
}

/** Absent texts have no key, as in a message. */
function readMail(sent: Sent): Mail {
  const given = OWN_NAMES.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]]))
  return { subject: '', body: '', ...Object.fromEntries(given), category: 'transactional' }
}

const SEND_FIELDS = fields.knownFields(SendInput)

export function readSend(body: inputs.Body): inputs.Reading<SendFields> {
  const reading = read(body, null)
  return 'errors' in reading ? reading : { input: reading.input, warnings: inputs.warnOfUnknown(body, SEND_FIELDS) }
}

type Dependencies = {
  store: Store
  clock: Clock
  templates: TemplateWorker
  mailer: { senders: Senders }
}

/** `messageId` null: a text of its own, which is `mail`. `unlinked`: URLs of `properties` that the email doesn't link to. */
export type PreparedSend = { messageId: number | null; mail: OwnMail | null; unlinked: number }

/**
 * Finds the message and renders the email, so that what can't be sent is refused instead of skipped. Refusals:
 * message_not_found, message_not_live, invalid_field.
 */
export async function prepareSend(deps: Dependencies, app: AppRow, input: SendFields): Promise<PreparedSend | Refusal> {
  const found = input.mail === null ? await findMessage(deps, app, input.message) : null
  if (found && isRefusal(found)) return found
  const mail = found?.content.mail ?? input.mail
  if (mail === null) return refuse('message_not_found')
  const unsent = await findUnsent(deps, app, { mail, isOwn: found === null })
  if (unsent.length > 0) return refuseFields(unsent)
  const rendered = await render(deps, app, { mail, input })
  if (!('html' in rendered)) return refuseFields(await describeFault(deps, app, { fault: rendered, mail, found }))
  const own = found === null ? withShownSubject(mail, rendered.subject) : null
  return { messageId: found?.id ?? null, mail: own, unlinked: rendered.refusedLinks.length }
}

/** Lists of emails show it. */
const withShownSubject = (mail: Mail, shownSubject: string): OwnMail =>
  shownSubject === mail.subject ? mail : { ...mail, shownSubject }

const NO_MESSAGE = refuse('message_not_found', {
  message: 'This app has no message with this ID or name. Copy its name from Messages.',
})

const OF_EVENT: FieldError = {
  field: 'message',
  code: 'invalid',
  message:
    'This message is sent by its trigger. To send it from your server, change its trigger to API in the editor, or to `{ "api": "send" }` over the API.',
}

const NOT_LIVE = {
  draft: 'This message is a draft. Make it live, then send this again.',
  paused: 'This message is paused. Make it live, then send this again.',
} as const

/** By its ID, or else its name. */
async function findMessage({ store }: Dependencies, app: AppRow, text: string): Promise<MessageRow | Refusal> {
  const id = readPublicId('msg', text)
  const message =
    (id === null ? null : await store.findMessage(app.id, id)) ?? (await store.findMessageByName(app.id, text))
  if (message === null) return NO_MESSAGE
  if (!('api' in message.content.trigger)) return refuseFields([OF_EVENT])
  return message.status === 'live' ? message : refuse('message_not_live', { message: NOT_LIVE[message.status] })
}

/** Without a sender address the email could only be skipped. */
async function findUnsent(
  { store, mailer: { senders } }: Dependencies,
  app: AppRow,
  { mail, isOwn }: { mail: Mail; isOwn: boolean },
): Promise<FieldError[]> {
  const unlisted = isOwn ? await senders.findUnlisted(app, mail) : []
  if (unlisted.length > 0) return unlisted.map(toOwnField)
  const settings = await store.mailSettings(app.id)
  const from = findFrom({ mail, settings, fallback: senders.installation.from, app })
  return from === null ? [{ field: isOwn ? 'fromEmail' : 'message', code: 'no_sender', message: NO_SENDER }] : []
}

const NO_SENDER = 'This app has no sender address. Add one on its Sender page.'

/** A message names its texts within `mail`. */
const toOwnField = (error: FieldError): FieldError => ({ ...error, field: error.field.replace(/^mail\./, '') })

const UNSUBSCRIBE_URL = 'https://example.com/unsubscribe'

type Rendering = { mail: Mail; input: SendFields }

/** As the person is now, with the names of the call where they have none. */
async function render(
  { store, templates }: Dependencies,
  app: AppRow,
  { mail, input }: Rendering,
): Promise<RenderedMail | TemplateFault> {
  const [stored, settings] = await Promise.all([store.findContact(app.id, input.email), store.mailSettings(app.id)])
  const { email, firstName, lastName, properties } = input
  const person: StoredContact = stored ?? makeNewPerson(app, email)
  const contact = { ...person, firstName: person.firstName ?? firstName, lastName: person.lastName ?? lastName }
  const variant = findVariant(mail, contact)
  const facts = mailFactsOf({ contact, event: { properties }, app, settings, variant }, UNSUBSCRIBE_URL)
  const whole = { template: mailTemplateOf(mail, variant), facts }
  const first = await templates.render(app.id, whole, { isSent: true })
  return 'slow' in first ? templates.render(app.id, whole, { isSent: true, isAlone: true }) : first
}

type Faulty = { fault: TemplateFault; mail: Mail; found: MessageRow | null }

/** Named by what the caller can change: a value, or the text. */
async function describeFault(deps: Dependencies, app: AppRow, { fault, mail, found }: Faulty): Promise<FieldError[]> {
  if ('missing' in fault && fault.missing !== 'subject') return [describeMissing(fault.missing, app)]
  const faults = found === null ? await findTemplateFaults({ ...deps, app }, mail) : []
  if (faults.length > 0) return faults.map(toOwnField)
  const own = 'missing' in fault ? 'subject' : mail.html === undefined ? 'body' : 'html'
  const field = found === null ? own : 'message'
  const message = 'missing' in fault ? 'The subject is empty.' : describeTemplateFault(fault)
  return [{ field, code: 'template', message }]
}

function describeMissing(missing: string, app: AppRow): FieldError {
  const { variable, lacks } = readMissing(missing)
  const [source = '', ...path] = variable.split('.')
  const name = path.join('.')
  const isName = source === 'contact' && (name === 'firstName' || name === 'lastName')
  const field = isName
    ? name
    : source === 'contact'
      ? 'email'
      : source === 'event'
        ? `properties.${name}`
        : 'properties'
  const where = field === 'email' ? 'Add it to the person' : `Send it${isName ? '' : ' in `properties`'}`
  const message = `\`${variable}\` has ${lacks}. ${where}, or write \`${proposeFallback(variable, app)}\` in the text.`
  return { field, code: 'missing_value', message }
}

export const warnOfLinks = ({ unlinked: count = 0 }: Pick<SentMail, 'unlinked'>): Warning[] =>
  count === 0
    ? []
    : [
        {
          field: 'properties',
          code: 'url_not_linkable',
          message: `The email doesn't link to ${count === 1 ? "a URL in `properties`, because it isn't an https address" : `${count} URLs in \`properties\`, because they aren't https addresses`} on a domain of this app.`,
        },
      ]

type Sending = Omit<WriteContext, 'via'> & PreparedSend

/** Resolves after the commit. Refusals: contact_not_found, plan_limit_reached, message_not_live, and of keys. */
export const sendMail = (
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  { access, app, limits, idempotency, messageId, mail, unlinked }: Sending,
  input: SendFields,
): Promise<SentMail | Refused> => {
  const { email, emailShown, createContact, firstName, lastName, properties } = input
  return store.sendMail({
    ...ofKey(access),
    accountId: app.accountId,
    appId: app.id,
    email,
    shownEmail: emailShown === email ? null : emailShown,
    createContact,
    firstName,
    lastName,
    messageId,
    properties,
    mail,
    unlinked,
    at: clock.now(),
    limits,
    idempotency,
  })
}

const ofKey = ({ key, plan }: Access) => ({ keyId: key.id, newPeoplePerMonth: plan.newPeoplePerMonth })
