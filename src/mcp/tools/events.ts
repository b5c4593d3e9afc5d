import { findNamedApp } from '../../accounts/apps.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { EventInput, readEventInput } from '../../events/event-input.ts'
import {
  eventView,
  listEvents as listStoredEvents,
  type NameField,
  type UnreadEvent,
  warnOfNames,
} from '../../events/events.ts'
import { joinWarnings } from '../../core/json.ts'
import { publicId } from '../../core/ids.ts'
import type { Body } from '../../core/inputs.ts'
import { dryRunEvent } from '../../deliveries/dry-runs.ts'
import { listUnstarted } from '../../deliveries/message-explanations.ts'
import { listQueued } from '../../deliveries/queued-messages.ts'
import type { RequestFacts } from '../../http/request-facts.ts'
import { EventQuery, readEventsFilter, writeIdCursor } from '../../http/queries.ts'
import { isRefusal, type Refusal, refuseFields, type Warning, withWarnings } from '../../core/refusals.ts'
import { findAsked, withoutNulls } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import { inputSchema, type Tool, type ToolDependencies } from './tool.ts'
import { DRY_RUN, findDryRunFault, queuedView, splitArguments, unstartedView } from './writes.ts'

export const listEvents: Tool = {
  name: 'list_events',
  title: 'List events',
  description: 'Events, page views and actions, newest first.',
  kind: 'read',
  input: inputSchema(EventQuery),
  run: async (deps, caller, args, known) => {
    const asked = await findAsked(deps, caller, readEventsFilter(withoutNulls(args), known))
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
  description: 'Records an event. Lists queued emails, or why there are none.',
  kind: 'write',
  hints: { repeats: true, reachesOut: true },
  input: inputSchema(EventInput, { dryRun: DRY_RUN }),
  run: async (deps, caller, { dryRun, ...args }, known) => {
    const { body, unknown } = splitArguments(args, known)
    const { access, facts } = caller
    const fault = findDryRunFault(dryRun)
    if (fault) {
      const reading = readEventInput(body, deps.clock.now())
      return refuseFields('errors' in reading ? [...reading.errors, fault] : [fault])
    }
    const event: UnreadEvent = { access, text: JSON.stringify(body), via: 'mcp' }
    const outcome = await (dryRun === true ? tryEvent(deps, facts, body, event) : saveEvent(deps, facts, event))
    if (isRefusal(outcome)) return outcome
    const { view, recorded, warnings } = outcome
    const all = [...joinWarnings(caller.warnings, [...unknown, ...warnings]), ...warnOfNames(recorded, access)]
    return withWarnings(view, cleanValue(all))
  },
}

type EventView = { ok: true; contactId: string | null; created: boolean; dryRun?: true } & ReturnType<
  typeof queuedView
> &
  ReturnType<typeof unstartedView>
type Outcome = Promise<{ view: EventView; recorded: { keptNames?: NameField[] }; warnings: Warning[] } | Refusal>

async function saveEvent(deps: ToolDependencies, facts: RequestFacts, event: UnreadEvent): Outcome {
  const result = await deps.recordEvent(event)
  facts.app = result.app ?? facts.app
  if ('refused' in result) return result.refused
  const { recorded, warnings, app } = result
  if (!app) throw new Error('an event was recorded for no app of its key')
  const { contactId, created } = recorded
  const { store } = deps
  const [queued, person, stored] = await Promise.all([
    listQueued(store, app, recorded),
    store.byId(contactId),
    store.findEvent(app.id, recorded.eventId),
  ])
  const unstarted = person && stored ? await listUnstarted(store, person, stored) : []
  const view = { contactId: publicId('con', contactId), created, ...queuedView(queued), ...unstartedView(unstarted) }
  return { view: { ok: true, ...view }, recorded, warnings }
}

async function tryEvent(deps: ToolDependencies, facts: RequestFacts, body: Body, event: UnreadEvent): Outcome {
  const { access } = event
  facts.app = findNamedApp(access, body)
  const tried = await dryRunEvent(deps, facts.app, event)
  if (isRefusal(tried)) {
    const current = tried.refusal === 'app_not_found' ? await deps.access.findWithNewApps(access) : null
    return current ? tryEvent(deps, facts, body, { ...event, access: current }) : tried
  }
  const { contactId, created, queued, unstarted, warnings } = tried
  const view = { contactId: contactId === null ? null : publicId('con', contactId), created, dryRun: true as const }
  return { view: { ok: true, ...view, ...queuedView(queued), ...unstartedView(unstarted) }, recorded: tried, warnings }
}
