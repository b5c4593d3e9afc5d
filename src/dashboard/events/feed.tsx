/** @jsxImportSource preact */
import type { EventRow } from '../../events/events.ts'
import { publicId } from '../../core/ids.ts'
import { describeEventName, isLate, previewOf } from './event-labels.ts'
import { pathOf } from '../layout/frame.tsx'
import { Icon } from '../ui/icon.tsx'
import { SentText } from '../ui/text.tsx'
import { Moment, ShortTime } from '../ui/time.tsx'

/** Rows per page and per stream message. */
export const FEED_ROWS = 32

const ICONS = { event: 'activation', page: 'page', action: 'action' } as const
const PREVIEW_MOST = 160
const NAME_MOST = 120

export const eventPath = (appId: string, id: number): string => `${pathOf(appId, 'events')}/${publicId('evt', id)}`
export const personPath = (appId: string, id: number): string => `${pathOf(appId, 'people')}/${publicId('con', id)}`

type FeedRowProps = { appId: string; row: EventRow }

export const FeedRow = ({ appId, row }: FeedRowProps) => (
  <li data-id={publicId('evt', row.id)}>
    <Moment at={row.receivedAt} />
    <a class="what" href={eventPath(appId, row.id)}>
      <Icon name={ICONS[row.type]} />
      <SentText most={NAME_MOST}>{describeEventName(row.name)}</SentText>
    </a>
    <a class="who" href={personPath(appId, row.contactId)}>
      <SentText>{row.email}</SentText>
    </a>
    <span class="preview">
      <Preview row={row} />
    </span>
  </li>
)

/** Rows are in order of arrival. */
function Preview({ row }: Pick<FeedRowProps, 'row'>) {
  const text = previewOf(row)
  const preview = <SentText most={PREVIEW_MOST}>{text}</SentText>
  if (!isLate(row.occurredAt, row.receivedAt)) return preview
  return (
    <>
      <span class="hint">
        happened <ShortTime at={row.occurredAt} now={row.receivedAt} />
      </span>
      {text !== '' && <> · {preview}</>}
    </>
  )
}
