import type { MailSettings } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import { RESULTS_READY } from '../core/field-patterns.ts'
import type { Sample } from '../messages/mailer.ts'
import { FIRST_MESSAGES } from '../accounts/first-messages.ts'

const SAMPLE_TIMES = { createdAt: 0, updatedAt: 0 }

/** The first draft with sample data, to preview an app's emails. */
export function makeSenderSample(app: AppRow, settings: MailSettings): Sample {
  const [draft] = FIRST_MESSAGES
  if (!draft) throw new Error('there is no first message')
  const properties = JSON.stringify({ headline: 'Your 12 pictures are ready', url: app.homeUrl ?? '' })
  const times = { ...SAMPLE_TIMES, firstSeenAt: null, lastSeenAt: null, lastEventAt: null }
  const person = { id: 0, appId: app.id, email: 'ada@example.com', firstName: 'Ada', lastName: null }
  return {
    app,
    settings,
    joined: [],
    message: { id: 0, accountId: app.accountId, appId: app.id, status: 'draft', version: 1, ...SAMPLE_TIMES, ...draft },
    contact: { ...person, shownEmail: null, tags: [], fields: {}, source: null, status: 'subscribed', ...times },
    event: {
      id: 0,
      contactId: 0,
      email: person.email,
      type: 'event',
      name: RESULTS_READY,
      properties,
      path: null,
      via: 'api',
      receivedAt: 0,
      occurredAt: 0,
    },
  }
}
