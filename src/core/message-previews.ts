/** A message as it would go out, and the token that says somebody has seen it (messages.md; mcp.md, Tools). */
import { timingSafeEqual } from 'node:crypto'
import { allHold, parseProperties } from '../store/conditions.ts'
import type { MessageRow } from '../store/message-types.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import type { AppRow } from './access.ts'
import { UNKNOWN_PERSON } from './contacts.ts'
import type { RenderedMail, Sample } from './mailer.ts'
import { listSamples, makeSample, type SampleMoment } from './message-samples.ts'
import type { Parts } from './parts.ts'
import { isRefusal, type Refusal } from './refusals.ts'
import type { TemplateFault } from './templates.ts'

/** How far back one person's event is looked for. */
const LOOKED_EVENTS = 500

/** `isMadeUp`: nothing that is stored would have started the message yet. */
export type Preview = { sample: Sample; isMadeUp: boolean; mail: RenderedMail | TemplateFault }

type Asked = { app: AppRow; message: MessageRow; email: string | null }

/**
 * The mail of a message: for one person where an email is given, by their last event that would start it; else for the
 * last who would have got it, or for somebody who does not exist. Refusals: contact_not_found.
 */
export async function previewMessage(
  parts: Pick<Parts, 'store' | 'clock' | 'mailer'>,
  asked: Asked,
): Promise<Preview | Refusal> {
  const found = await findMoment(parts, asked)
  if (isRefusal(found)) return found
  const { isMadeUp, ...moment } = found
  const { app, message } = asked
  const sample = { ...moment, app, message, settings: await parts.store.mailSettings(app.id) }
  return { sample, isMadeUp, mail: parts.mailer.preview(sample) }
}

type Found = SampleMoment & { isMadeUp: boolean }

async function findMoment(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  { app, message, email }: Asked,
): Promise<Found | Refusal> {
  const { content } = message
  if (email === null) {
    const [last] = await listSamples(store, app, content.trigger)
    return last ? { ...last, isMadeUp: false } : { ...makeSample(app, content, clock.now()), isMadeUp: true }
  }
  const contact = await store.findContact(app.id, email)
  return contact ? { contact, event: await findEvent(store, message, contact), isMadeUp: false } : UNKNOWN_PERSON
}

async function findEvent(
  store: Parts['store'],
  { appId, content: { trigger } }: MessageRow,
  contact: ContactRow,
): Promise<EventRow | null> {
  if (!('event' in trigger)) return null
  const query = { appId, contactId: contact.id, name: trigger.event, before: null, limit: LOOKED_EVENTS }
  const { rows } = await store.listEvents(query)
  return rows.find(({ properties }) => allHold(trigger.where ?? [], parseProperties(properties))) ?? null
}

/**
 * Proves that this content of this message was previewed: whoever changes a word needs another. It says nothing about
 * who may turn it on.
 */
export const makeLiveToken = (key: string, app: AppRow, { id, content }: Pick<MessageRow, 'id' | 'content'>): string =>
  new Bun.CryptoHasher('sha256', key).update(JSON.stringify([app.publicId, id, content])).digest('base64url')

/** Whether a token is that of the message as it is now. */
export function isLiveToken(
  token: string,
  of: { key: string; app: AppRow; message: Pick<MessageRow, 'id' | 'content'> },
): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(makeLiveToken(of.key, of.app, of.message))]
  return given.length === right.length && timingSafeEqual(given, right)
}
