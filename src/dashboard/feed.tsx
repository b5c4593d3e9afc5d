/** @jsxImportSource preact */
import { render } from 'preact-render-to-string'
import type { EventRow } from '../core/events.ts'
import { publicId, readPublicId } from '../core/public-ids.ts'
import type { PageParts } from './door.tsx'
import { nameInWords, previewOf } from './event-words.ts'
import { pathOf } from './frame.tsx'
import { Icon } from './parts/icon.tsx'
import { SentText } from './parts/text.tsx'
import { Moment, Zone } from './parts/time.tsx'
import { streamChanges } from './stream.ts'
import type { Viewer } from './viewer.ts'

/** Rows of a page, and of a message to those who follow. */
export const FEED_ROWS = 50

/** What is followed: the events of an app, or those of one name. */
export type FeedFilter = { name: string | null }

/** What islands/feed.ts gets: rows to put on top, newest first, and the cursor to come back with. */
type FeedRows = { html: string; count: number; cursor: string }

const ICONS = { event: 'activation', page: 'page', action: 'action' } as const
const PREVIEW_MOST = 160
const NAME_MOST = 120

export const eventPath = (appId: string, id: number): string => `${pathOf(appId, 'events')}/${publicId('evt', id)}`
export const personPath = (appId: string, id: number): string => `${pathOf(appId, 'people')}/${publicId('con', id)}`

/** One event in a line, on a phone in three. */
export const FeedRow = ({ appId, row }: { appId: string; row: EventRow }) => (
  <li data-id={publicId('evt', row.id)}>
    <Moment at={row.receivedAt} />
    <a class="what" href={eventPath(appId, row.id)}>
      <Icon name={ICONS[row.type]} />
      <SentText most={NAME_MOST}>{nameInWords(row.name)}</SentText>
    </a>
    <a class="who" href={personPath(appId, row.contactId)}>
      <SentText>{row.email}</SentText>
    </a>
    <span class="preview">
      <SentText most={PREVIEW_MOST}>{previewOf(row)}</SentText>
    </span>
  </li>
)

/** Between what was seen before and what is shown now there is more than anybody would read. */
const Gap = () => <li class="gap">More came in between than is shown here. The pages of older events have it.</li>

/** The newest rows that came after one; `isWhole` false where there were more. */
async function findNewRows({ store }: PageParts, viewer: Viewer, { name }: FeedFilter, after: number) {
  const query = { appId: viewer.app.id, contactId: null, name, before: null, after, limit: FEED_ROWS }
  const { rows, next } = await store.listEvents(query)
  return { rows, isWhole: next === null }
}

/** Follows the events of an app, from the cursor that the page or the last message gave (spec 3.4). */
export function followFeed(parts: PageParts, request: Request, viewer: Viewer): Response {
  const { searchParams } = new URL(request.url)
  const given = request.headers.get('last-event-id') ?? searchParams.get('after') ?? ''
  let after = readPublicId('evt', given) ?? 0
  const filter = { name: searchParams.get('event') || null }
  return streamChanges(parts, request, async (send) => {
    const { rows, isWhole } = await findNewRows(parts, viewer, filter, after)
    const [newest] = rows
    if (!newest) return
    const isFirst = after === 0
    after = newest.id
    const cursor = publicId('evt', after)
    const html = render(
      <Zone.Provider value={viewer.app.timezone}>
        {rows.map((row) => (
          <FeedRow key={row.id} appId={viewer.app.publicId} row={row} />
        ))}
        {!isWhole && !isFirst && <Gap />}
      </Zone.Provider>,
    )
    const data: FeedRows = { html, count: rows.length, cursor }
    send({ name: 'rows', data, id: cursor })
  })
}
