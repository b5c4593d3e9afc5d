import { Elysia } from 'elysia'
import * as answers from '../http/answer-schemas.ts'
import {
  ContactUpdateInput,
  ContactInput,
  ContactErase,
  type ContactFields,
  readContactErase,
  readContactInput,
  readContactUpdate,
} from '../people/contact-input.ts'
import { exportPerson, noteExport } from '../deliveries/person-export.ts'
import { refuseConsent } from '../people/consent.ts'
import * as contacts from '../people/contacts.ts'
import { type IdempotencyGuard, REPLAYED, replayOf } from '../http/idempotency.ts'
import type { ApiDependencies } from './dependencies.ts'
import { publicId } from '../core/ids.ts'
import { ContactQuery, PersonQuery, readContactsQuery, readPersonQuery, writeContactCursor } from '../http/queries.ts'
import { isRefusal, warnOfSending, withWarnings } from '../core/refusals.ts'
import { type ContactWriteName, takeForContact } from '../accounts/write-limits.ts'
import { answer, refusalAnswer, streamedAnswer } from '../http/answers.ts'
import { readRequest, type RequestInput } from '../http/request-input.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { limitHeaders, remainingHeaders, uncountedAnswer } from '../http/limited.ts'
import { readPage } from './page.ts'
import { contactView } from '../people/contacts.ts'

/** POST, PATCH, GET and DELETE /contacts, and GET /contacts/export. */
export const contactRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia()
    .post(
      '/contacts',
      async ({ request }) => {
        const given = await readRequest(deps, request, readContactInput)
        return 'refused' in given
          ? uncountedAnswer(deps, request, 'contactAdds', given.refused)
          : save(deps, idempotency, request, { given, write: 'contactAdds' })
      },
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Add a person',
          description:
            'Returns 201 for a new person. If the person is known, updates them with what you send and returns 200.',
          example: EXAMPLES.postContact,
          body: ContactInput,
          answers: { 201: answers.ContactAddedAnswer, 200: answers.ContactSavedAnswer },
          refusals: ['plan_limit_reached'],
          isLimited: true,
        }),
      },
    )
    .patch(
      '/contacts',
      async ({ request }) => {
        const given = await readRequest(deps, request, readContactUpdate)
        return 'refused' in given
          ? uncountedAnswer(deps, request, 'contactUpdates', given.refused)
          : save(deps, idempotency, request, { given, write: 'contactUpdates' })
      },
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Update a person',
          description: 'Changes a known person. Never adds one.',
          example: EXAMPLES.patchContact,
          body: ContactUpdateInput,
          answers: { 200: answers.ContactSavedAnswer },
          refusals: [contacts.UNKNOWN_PERSON],
          isLimited: true,
        }),
      },
    )
    .get(
      '/contacts',
      async ({ request }) => {
        const given = await readPage(deps, request, readContactsQuery)
        if ('refused' in given) return refusalAnswer(request, given.refused)
        const { app, input } = given
        if (input.email !== null) {
          const row = await deps.store.findContact(app.id, input.email)
          return row
            ? answer(request, 200, { ok: true, contact: contactView(row, app) })
            : refusalAnswer(request, contacts.UNKNOWN_PERSON)
        }
        const rows = await deps.store.listContacts({ ...input, appId: app.id, limit: input.limit + 1 })
        const data = rows.slice(0, input.limit)
        const last = data.at(-1)
        const position = last && { id: last.id, updatedAt: input.updatedAfter === null ? null : last.updatedAt }
        const nextCursor = rows.length > input.limit && position ? writeContactCursor(position) : null
        return answer(request, 200, { ok: true, data: data.map((row) => contactView(row, app)), nextCursor })
      },
      {
        detail: describeCall({
          summary: 'Find people',
          description:
            'Finds one person by `email`, or lists people, newest first. With `updatedAfter`, the most recently changed come first.',
          example: EXAMPLES.getContacts,
          query: ContactQuery,
          answers: { 200: answers.ContactFoundOrPage },
          refusals: [contacts.UNKNOWN_PERSON, 'insufficient_scope'],
        }),
      },
    )
    .get(
      '/contacts/export',
      async ({ request }) => {
        const given = await readPage(deps, request, readPersonQuery)
        if ('refused' in given) return refusalAnswer(request, given.refused)
        const { access, app, input } = given
        const person = await deps.store.findContact(app.id, input.email)
        if (!person) return refusalAnswer(request, contacts.UNKNOWN_PERSON)
        const noted = await noteExport(deps, app, { person, actor: access.key.id })
        return isRefusal(noted)
          ? refusalAnswer(request, noted)
          : streamedAnswer(request, exportPerson(deps, app, person))
      },
      {
        detail: describeCall({
          summary: 'Export a person',
          description:
            'Returns everything stored about one person: details, changes, consents, emails with their reasons, events and page views. The audit log records each export.',
          example: EXAMPLES.exportContact,
          query: PersonQuery,
          answers: { 200: answers.PersonExport },
          refusals: [contacts.UNKNOWN_PERSON, 'insufficient_scope'],
        }),
      },
    )
    .delete(
      '/contacts',
      async ({ request }) => {
        const given = await readRequest(deps, request, readContactErase, 'erase')
        if ('refused' in given) return refusalAnswer(request, given.refused)
        const outcome = await contacts.eraseContact(deps, given.app, {
          email: given.input.email,
          actor: given.access.key.id,
        })
        if (isRefusal(outcome)) return refusalAnswer(request, contacts.explainUnknown(outcome))
        return answer(request, 200, withWarnings({ ok: true }, [...given.warnings, ...warnOfSending('email', outcome)]))
      },
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Erase a person',
          description:
            'Erases the person and everything stored about them. If the address is suppressed or unsubscribed from a topic, a keyed hash of it stays.',
          example: EXAMPLES.deleteContact,
          body: ContactErase,
          answers: { 200: answers.ContactEraseAnswer },
          refusals: [contacts.UNKNOWN_PERSON, 'insufficient_scope'],
          takesKey: false,
        }),
      },
    )

async function save(
  deps: ApiDependencies,
  idempotency: IdempotencyGuard,
  request: Request,
  { given, write }: { given: RequestInput<ContactFields>; write: ContactWriteName },
): Promise<Response> {
  const begun = await idempotency.begin(request, given)
  if ('refused' in begun) return uncountedAnswer(deps, request, write, begun.refused)
  try {
    const { access, app, input } = given
    const replay = replayOf<contacts.SavedContact>(begun)
    if (replay) return savedAnswer(request, given, replay, remainingHeaders(deps, write, access))
    const unmet = await refuseConsent(deps.store, app, input)
    if (unmet) return uncountedAnswer(deps, request, write, unmet)
    const counted = takeForContact(deps, given, write)
    if (counted.refused) return refusalAnswer(request, counted.refused, limitHeaders(counted))
    const context = { access, app, via: 'api', limits: counted.counted, idempotency: begun.idempotency } as const
    const outcome = await (write === 'contactAdds' ? contacts.addContact : contacts.updateContact)(deps, context, input)
    const settled = counted.settle(outcome)
    const headers = limitHeaders(settled)
    return isRefusal(outcome)
      ? refusalAnswer(request, settled.refused ?? contacts.explainUnknown(outcome), headers)
      : savedAnswer(request, given, outcome, headers)
  } finally {
    begun.release()
  }
}

function savedAnswer(
  request: Request,
  { access, app, warnings }: RequestInput<ContactFields>,
  saved: contacts.SavedContact,
  headers: Record<string, string>,
): Response {
  const { contactId, created, contact, replayed } = saved
  // for keys that can't read, answers don't reveal earlier values
  const shown = access.key.scope === 'ingest' ? {} : { contact: contactView(contact, app) }
  const body = { ok: true, contactId: publicId('con', contactId), created, ...shown }
  if (replayed) Object.assign(headers, REPLAYED)
  return answer(
    request,
    created ? 201 : 200,
    withWarnings(body, [...warnings, ...contacts.warnOfDates(saved)]),
    headers,
  )
}
