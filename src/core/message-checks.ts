import { allHold, parseProperties } from '../store/conditions.ts'
import type { MailSettings, MessageContent } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, EventRow } from '../store/types.ts'
import type { FieldError } from './refusals.ts'
import { makeTemplateScope, type TemplateFacts } from './template-scope.ts'
import { fillTemplate, findTemplateProblems } from './templates.ts'

/** How many of the events really received a draft is tried on. */
const CHECKED_EVENTS = 500

/** `sender`: the address of the installation, null where none is set. */
export type CheckContext = { store: Store; app: AppRow; sender: string | null }

/** Only the templates' own names: what a draft may not even say, whatever comes. */
const TEMPLATES = ['subject', 'preheader', 'body'] as const

/**
 * What stands in the way of going live, each beside its field (messages.md, Check before going live): a sender, templates
 * that can be filled, and values or fallbacks for the events really received. No events received yet is no problem.
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
  const message = 'There is no sender. Set one for the app, here, or for the installation with EVENTPOST_MAIL_FROM.'
  return [{ field: 'mail.fromEmail', code: 'no_sender', message }]
}

const findBrokenTemplates = ({ mail }: MessageContent): FieldError[] =>
  TEMPLATES.flatMap((name) =>
    findTemplateProblems(mail[name] ?? '').map((message) => ({ field: `mail.${name}`, code: 'template', message })),
  )

async function findMissingValues({ store, app }: Omit<CheckContext, 'sender'>, content: MessageContent) {
  const events = await listTriggers(store, app, content)
  const ids = new Set(events.map(({ contactId }) => contactId))
  const people = new Map((await store.listContactsById([...ids])).map((contact) => [contact.id, contact]))
  const found = new Map<string, { field: string; variable: string; count: number }>()
  for (const event of events) {
    const contact = people.get(event.contactId)
    if (contact) countMissing(found, content, { contact, event, app })
  }
  // in the order of the editor
  return TEMPLATES.flatMap((name) => [...found.values()].filter(({ field }) => field === `mail.${name}`)).map((one) =>
    missingValue(one, events.length),
  )
}

/** The events received that would have triggered it. */
async function listTriggers(store: Store, app: AppRow, { trigger }: MessageContent): Promise<EventRow[]> {
  if (!('event' in trigger)) return []
  const query = { appId: app.id, contactId: null, name: trigger.event, before: null, limit: CHECKED_EVENTS }
  const { rows } = await store.listEvents(query)
  return rows.filter(({ properties }) => allHold(trigger.where ?? [], parseProperties(properties)))
}

type Sample = Omit<TemplateFacts, 'unsubscribeUrl'>

function countMissing(found: Map<string, { count: number }>, { mail }: MessageContent, sample: Sample): void {
  const scope = makeTemplateScope({ ...sample, unsubscribeUrl: 'https://example.com/unsubscribe' })
  for (const name of TEMPLATES) {
    const filled = fillTemplate(mail[name] ?? '', scope)
    if (!('missing' in filled)) continue
    const key = `${name} ${filled.missing}`
    const one = { field: `mail.${name}`, variable: filled.missing, count: (found.get(key)?.count ?? 0) + 1 }
    found.set(key, one)
  }
}

function missingValue({ field, variable, count }: { field: string; variable: string; count: number }, all: number) {
  const share = count * 100 < all ? 'less than 1' : String(Math.floor((count * 100) / all))
  const message = `\`${variable}\` is missing in ${share} % of the last ${all} events. Give it a fallback: {{ ${variable} | default: "..." }}.`
  return { field, code: 'missing_value', message }
}
