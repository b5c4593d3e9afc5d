import { allHold, parseProperties } from '../store/conditions.ts'
import type { MailSettings, MessageContent, Trigger } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { makeSample } from './message-samples.ts'
import type { FieldError } from './refusals.ts'
import { makeTemplateScope, type TemplateFacts } from './template-scope.ts'
import { fillTemplate, findTemplateProblems } from './templates.ts'

/** How many of the events really received, or of the people last added, a draft is tried on. */
const CHECKED = 500

/** `sender`: the address of the installation, null where none is set. */
export type CheckContext = { store: Store; app: AppRow; sender: string | null }

/** Only the templates' own names: what a draft may not even say, whatever comes. */
const TEMPLATES = ['subject', 'preheader', 'body'] as const

/**
 * What stands in the way of going live, each beside its field (messages.md, Check before going live): a sender, templates
 * that can be filled, and values or fallbacks for the events really received, or the people really added. None yet is
 * no problem.
 */
export async function findLiveProblems(
  { store, app, sender }: CheckContext,
  content: MessageContent,
): Promise<FieldError[]> {
  const settings = await store.mailSettings(app.id)
  const broken = findBrokenTemplates(content)
  const missing = broken.length > 0 ? [] : await findMissingValues({ store, app }, content)
  return [...findSenderProblem(content, settings, sender), ...broken, ...missing]
}

function findSenderProblem({ mail }: MessageContent, settings: MailSettings, sender: string | null): FieldError[] {
  if (mail.fromEmail ?? settings.fromEmail ?? sender) return []
  const message =
    'There is no sender. Set one for the app on the page Sender of the dashboard, for this message alone as its `fromEmail`, or for the installation with EVENTPOST_MAIL_FROM.'
  return [{ field: 'mail.fromEmail', code: 'no_sender', message }]
}

const findBrokenTemplates = ({ mail }: MessageContent): FieldError[] =>
  TEMPLATES.flatMap((name) =>
    findTemplateProblems(mail[name] ?? '').map((message) => ({ field: `mail.${name}`, code: 'template', message })),
  )

async function findMissingValues({ store, app }: Omit<CheckContext, 'sender'>, content: MessageContent) {
  const { trigger } = content
  const made = 'event' in trigger ? [] : findEventless(app, content)
  if (made.length > 0) return made
  const starts = 'event' in trigger ? await listTriggers(store, app, trigger) : await listAdded(store, app, trigger)
  const found = new Map<string, Missing>()
  for (const start of starts) countMissing(found, content, { ...start, app })
  // in the order of the editor
  return TEMPLATES.flatMap((name) => [...found.values()].filter(({ field }) => field === `mail.${name}`)).map((one) =>
    missingValue(one, starts.length, 'event' in trigger ? 'events' : 'people'),
  )
}

/** What only an event has, where none starts the message: such a mail could never be written. */
function findEventless(app: AppRow, content: MessageContent): FieldError[] {
  const found = new Map<string, Missing>()
  countMissing(found, content, { ...makeSample(app, content, 0), app })
  return [...found.values()]
    .filter(({ variable }) => variable.startsWith('event.'))
    .map(({ field, variable }) => {
      const message = `No event starts this message, so \`${variable}\` has no value. Give it a fallback: {{ ${variable} | default: "..." }}.`
      return { field, code: 'missing_value', message }
    })
}

/** Whom a message would have been started for that starts with each new person. */
async function listAdded(store: Store, app: AppRow, trigger: Trigger): Promise<Start[]> {
  if (!('contact' in trigger)) return []
  const query = { appId: app.id, tag: null, updatedAfter: null, before: null, limit: CHECKED }
  return (await store.listContacts(query)).map((contact) => ({ contact, event: null }))
}

/** The events received that would have triggered it. */
async function listTriggers(store: Store, app: AppRow, trigger: OnEvent): Promise<Start[]> {
  const query = { appId: app.id, contactId: null, name: trigger.event, before: null, limit: CHECKED }
  const { rows } = await store.listEvents(query)
  const starting = rows.filter(({ properties }) => allHold(trigger.where ?? [], parseProperties(properties)))
  const ids = new Set(starting.map(({ contactId }) => contactId))
  const people = new Map((await store.listContactsById([...ids])).map((contact) => [contact.id, contact]))
  return starting.flatMap((event) => {
    const contact = people.get(event.contactId)
    return contact ? [{ contact, event }] : []
  })
}

type OnEvent = Extract<Trigger, { event: string }>
type Missing = { field: string; variable: string; count: number }
type Sample = Omit<TemplateFacts, 'unsubscribeUrl'>
/** A person, and the event that would have started it. */
type Start = Omit<Sample, 'app'>

function countMissing(found: Map<string, Missing>, { mail }: MessageContent, sample: Sample): void {
  const scope = makeTemplateScope({ ...sample, unsubscribeUrl: 'https://example.com/unsubscribe' })
  for (const name of TEMPLATES) {
    const filled = fillTemplate(mail[name] ?? '', scope)
    if (!('missing' in filled)) continue
    const key = `${name} ${filled.missing}`
    const one = { field: `mail.${name}`, variable: filled.missing, count: (found.get(key)?.count ?? 0) + 1 }
    found.set(key, one)
  }
}

function missingValue({ field, variable, count }: Missing, all: number, what: 'events' | 'people'): FieldError {
  const share = count * 100 < all ? 'less than 1' : String(Math.floor((count * 100) / all))
  const only = what === 'events' ? 'the only event so far' : 'the only person so far'
  const where = `${what === 'events' ? 'in' : 'for'} ${all === 1 ? only : `${share} % of the last ${all} ${what}`}`
  const message = `\`${variable}\` is missing ${where}. Give it a fallback: {{ ${variable} | default: "..." }}.`
  return { field, code: 'missing_value', message }
}
