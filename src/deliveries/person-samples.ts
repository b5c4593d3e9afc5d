import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { MessageRow } from '../store/message-types.ts'
import type { ContactRow } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import type { Sample } from '../messages/mailer.ts'
import {
  isStartedBy,
  listSamples,
  makeSampleFor,
  pickFilled,
  type SampleMoment,
  SEVERAL,
  takeEmail,
} from '../messages/message-samples.ts'
import { isRefusal, type Refusal } from '../core/refusals.ts'

const CHECKED_EVENTS = 500

/** `isMadeUp`: no stored person matches yet. */
export type FoundSample = { sample: Sample; isMadeUp: boolean }

type Asked = { app: AppRow; message: MessageRow; email: string | null; isSeveral?: boolean }

/**
 * The given person's last matching event; else the latest person; else sample data. `isSeveral`: sample data with
 * several events. Refusals: contact_not_found.
 */
export async function findSample(deps: Dependencies, asked: Asked): Promise<FoundSample | Refusal> {
  const found = await findMoment(deps, asked)
  if (isRefusal(found)) return found
  const { isMadeUp, ...moment } = found
  const { app, message } = asked
  return { sample: { ...moment, app, message, settings: await deps.store.mailSettings(app.id) }, isMadeUp }
}

type Dependencies = { store: Store; clock: Clock; templates: TemplateWorker }

type Found = SampleMoment & { isMadeUp: boolean }

async function findMoment(
  { store, clock, templates }: Dependencies,
  { app, message, email, isSeveral = false }: Asked,
): Promise<Found | Refusal> {
  const { content } = message
  if (isSeveral) {
    const several = await makeSampleFor(templates, app, { content, at: clock.now(), events: SEVERAL })
    return { ...several, isMadeUp: true }
  }
  if (email === null) {
    const settings = await store.mailSettings(app.id)
    const last = await pickFilled(templates, { app, content, settings }, await listSamples(store, app, content))
    if (last) return { ...last, isMadeUp: false }
    return { ...(await makeSampleFor(templates, app, { content, at: clock.now() })), isMadeUp: true }
  }
  const contact = await store.findContact(app.id, email)
  return contact ? { contact, ...(await findEmail(store, message, contact)), isMadeUp: false } : UNKNOWN_PERSON
}

async function findEmail(store: Store, { appId, content }: MessageRow, contact: ContactRow) {
  const { trigger } = content
  if (!('event' in trigger)) return { event: null, joined: [] }
  const query = { appId, contactId: contact.id, name: trigger.event, before: null, limit: CHECKED_EVENTS }
  const { rows } = await store.listEvents(query)
  return takeEmail(
    content,
    rows.filter((row) => isStartedBy(row, trigger)),
  )
}
