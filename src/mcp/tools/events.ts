import { findApp } from '../../accounts/apps.ts'
import { noteEventWithoutEmail } from '../../events/activation.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { EventInput, type EventFields, readEventInput } from '../../events/event-input.ts'
import {
  eventView,
  listEvents as listStoredEvents,
  recordEvent,
  type NameField,
  warnOfLink,
  warnOfNames,
} from '../../events/events.ts'
import { settleTaken, type WriteContext } from '../../accounts/write-limits.ts'
import { joinWarnings } from '../../core/json.ts'
import { publicId } from '../../core/ids.ts'
import { dryRunEvent } from '../../deliveries/dry-runs.ts'
import { listUnstarted } from '../../deliveries/message-explanations.ts'
import { listQueued } from '../../deliveries/queued-messages.ts'
import { EventQuery, readEventsQuery, writeIdCursor } from '../../http/queries.ts'
import { isRefusal, type Refusal, refuse, refuseFields, withWarnings } from '../../core/refusals.ts'
import { findAsked, toQuery } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import { LIST, RECORDED, inputSchema, type Tool, type ToolDependencies } from './tool.ts'
import { checkDryRun, DRY_RUN, queuedView, unstartedView } from './writes.ts'

export const listEvents: Tool = {
  name: 'list_events',
  title: 'Stored events',
  description: 'Events, page views and actions, newest first, of all people or of one.',
  kind: 'read',
  input: inputSchema(EventQuery),
  output: LIST,
  run: async (deps, { access }, args, known) => {
    const asked = findAsked(access, readEventsQuery(toQuery(args), known))
    if (isRefusal(asked)) return asked
    const { email, event: name, before, limit } = asked.input
    const page = await listStoredEvents(deps, asked.app, { email, name, before, limit })
    if (!page) return UNKNOWN_PERSON
    const data = takeWithin(cleanValue(page.rows.map(eventView)), PAGE_BYTES)
    const next = data.length < page.rows.length ? (page.rows[data.length - 1]?.id ?? null) : page.next
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor: next === null ? null : writeIdCursor(next) }
  },
}

export const sendEvent: Tool = {
  name: 'send_event',
  title: 'Send an event',
  description: 'Records an event; lists emails it queued, or why not. With `dryRun` nothing is saved or counted.',
  kind: 'write',
  hints: { repeats: true, reachesOut: true },
  input: inputSchema(EventInput, { dryRun: DRY_RUN }),
  output: RECORDED,
  run: async (deps, caller, { dryRun, ...body }) => {
    const { access } = caller
    const reading = checkDryRun(readEventInput(body, deps.clock.now()), dryRun)
    if ('errors' in reading) {
      if (dryRun !== true) noteEventWithoutEmail(deps, { read: { access, body } })
      return refuseFields(reading.errors)
    }
    const { input, warnings } = reading
    const app = findApp(access, input.app)
    if (!app) return refuse('app_not_found')
    const context: WriteContext = { access, app, via: 'mcp', buckets: [], idempotency: null }
    const outcome = await (dryRun === true ? tryEvent : saveEvent)(deps, context, input)
    if (isRefusal(outcome)) return outcome
    const all = [...joinWarnings(caller.warnings, warnings), ...warnOfLink(input, app), ...warnOfNames(outcome, access)]
    return withWarnings(outcome.view, cleanValue(all))
  },
}

type EventView = { ok: true; contactId: string | null; created: boolean; dryRun?: true } & ReturnType<
  typeof queuedView
> &
  ReturnType<typeof unstartedView>
type Outcome = Promise<{ view: EventView; keptNames?: NameField[] } | Refusal>

async function saveEvent(deps: ToolDependencies, context: WriteContext, input: EventFields): Outcome {
  const counted = await deps.eventLimit.take(context.access)
  if (counted.refused) return counted.refused
  const outcome = await recordEvent(deps, { ...context, buckets: counted.buckets }, input)
  settleTaken(deps, counted, outcome)
  if (isRefusal(outcome)) return outcome
  const { contactId, created, keptNames } = outcome
  const { store } = deps
  const [queued, person, event] = await Promise.all([
    listQueued(store, context.app, outcome),
    store.byId(contactId),
    store.findEvent(context.app.id, outcome.eventId),
  ])
  const unstarted = person && event ? await listUnstarted(store, person, event) : []
  const view = { contactId: publicId('con', contactId), created, ...queuedView(queued), ...unstartedView(unstarted) }
  return { view: { ok: true, ...view }, keptNames }
}

async function tryEvent(deps: ToolDependencies, context: WriteContext, input: EventFields): Outcome {
  const tried = await dryRunEvent(deps, context, input)
  if (isRefusal(tried)) return tried
  const { contactId, created, keptNames, queued, unstarted } = tried
  const view = { contactId: contactId === null ? null : publicId('con', contactId), created, dryRun: true as const }
  return { view: { ok: true, ...view, ...queuedView(queued), ...unstartedView(unstarted) }, keptNames }
}
