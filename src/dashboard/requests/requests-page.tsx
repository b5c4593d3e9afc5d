/** @jsxImportSource preact */
import { formatCounted, MOST_COUNTED } from '../../core/count.ts'
import { formatZone } from '../../core/format-time.ts'
import { ERROR_CODES } from '../../docs/error-codes.ts'
import type { RequestRow as Row } from '../../store/requests.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { ButtonLink } from '../ui/button.tsx'
import { type Chip, Chips } from '../ui/chips.tsx'
import { Select } from '../ui/choice.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { FeedPending, FeedTools, FeedZone } from '../ui/feed.tsx'
import { DayField, Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { FilterMenu } from '../ui/filter-menu.tsx'
import { Finder } from '../ui/finder.tsx'
import { Pager } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { describeCaller, KEYLESS_OPTIONS, NO_KNOWN_APP, type RequestNames } from './request-labels.tsx'
import { RequestRow } from './request-row.tsx'
import {
  exportPath,
  type FilterName,
  FILTERS,
  FILTER_NAMES,
  isNarrowed,
  listFilters,
  NO_APP_NAME,
  OWN_OR_NO_APP,
  requestsPath,
  type RequestsView,
  writeView,
} from './requests-view.ts'

type RequestsProps = {
  viewer: Viewer
  view: RequestsView
  names: RequestNames
  rows: Row[]
  /** null: more than are counted */
  count: number | null
  /** request ID that was not found; empty without a search */
  wanted: string
  /** of the days */
  fault: string | null
  /** whether this is not the first page, which gets new requests */
  isOld: boolean
  /** cursor of the next page */
  older: number | null
}

export const RequestsPage = (props: RequestsProps) => (
  <Frame
    viewer={props.viewer}
    page="requests"
    title="Requests"
    state={
      <span data-feed-counts="state">
        <State {...props} />
      </span>
    }
    islands={['feed']}
  >
    <div class="list-tools">
      <RequestFinder {...props} />
      <KindLinks {...props} />
      {!props.isOld && <FeedTools zone={formatZone(props.viewer.app.timezone)} />}
    </div>
    {props.wanted !== '' && (
      <Notice kind="caution">
        No request in the log has the ID{' '}
        <SentText most={60} end=".">
          {props.wanted}
        </SentText>
      </Notice>
    )}
    {props.fault && <Notice kind="error">{props.fault}</Notice>}
    <Chips chips={chipsOf(props)} clear={requestsPath(props.viewer.app.publicId, { kind: props.view.kind })} />
    <section class="feed-section" aria-label="Requests">
      {!props.isOld && <p class="hint" role="status" data-stream-reason />}
      <RequestList {...props} />
    </section>
  </Frame>
)

const WORDS = { refused: ' refused', accepted: ' accepted', all: '' } as const

export function State({ view, count }: Pick<RequestsProps, 'view' | 'count'>) {
  const counted = count === 0 ? 'No' : formatCounted(count ?? MOST_COUNTED + 1)
  const requests = `${counted}${WORDS[view.kind]} ${count === 1 ? 'request' : 'requests'}`
  const where = isNarrowed(view) ? (count === 1 ? 'matches the filters' : 'match the filters') : 'in the log'
  const sample =
    view.kind === 'refused'
      ? ''
      : ' Accepted requests are sampled: one per second per key, or per app if there is no key.'
  return <>{`${requests} ${where}.${sample}`}</>
}

const KIND_NAMES = { refused: 'Refused', accepted: 'Accepted', all: 'All' } as const

const KindLinks = ({ viewer, view }: RequestsProps) => (
  <nav class="ranges filter-links" aria-label="Outcome">
    {(['refused', 'accepted', 'all'] as const).map((kind) => (
      <a
        key={kind}
        href={requestsPath(viewer.app.publicId, { ...view, kind })}
        aria-current={kind === view.kind ? 'true' : undefined}
      >
        {KIND_NAMES[kind]}
      </a>
    ))}
  </nav>
)

const RequestFinder = (props: RequestsProps) => (
  <Finder
    action={pathOf(props.viewer.app.publicId, 'requests')}
    method="get"
    hidden={props.view.kind === 'refused' ? {} : { kind: props.view.kind }}
    name="id"
    label="Request ID"
    placeholder="Request ID"
    value={props.wanted}
  >
    <FilterMenu>
      {FILTERS.map((name) => (
        <Filter key={name} name={name} {...props} />
      ))}
    </FilterMenu>
  </Finder>
)

type Choices = { value: string; label: string }[]

function choicesOf(name: FilterName, { names, viewer }: RequestsProps): Choices {
  const statuses = [...new Set(Array.from(ERROR_CODES.values(), ({ status }) => status))].toSorted((a, b) => a - b)
  const choices: Record<FilterName, Choices> = {
    code: Array.from(ERROR_CODES.keys(), (value) => ({ value, label: value })),
    status: statuses.map((status) => ({ value: String(status), label: String(status) })),
    key: [...names.keys.map(({ id, name }) => ({ value: id, label: name })), ...KEYLESS_OPTIONS],
    app: [
      ...names.apps.map(({ publicId, name }) => ({ value: publicId, label: name })),
      { value: NO_APP_NAME, label: NO_KNOWN_APP },
      { value: OWN_OR_NO_APP, label: `${viewer.app.name} or ${NO_KNOWN_APP.toLowerCase()}` },
    ],
    field: [],
    from: [],
    to: [],
  }
  return choices[name]
}

const ANY: Record<FilterName, string> = {
  code: 'All codes',
  status: 'All statuses',
  key: 'All keys',
  app: 'All apps',
  field: '',
  from: '',
  to: '',
}

function Filter({ name, ...props }: RequestsProps & { name: FilterName }) {
  const value = props.view[name]
  const label = FILTER_NAMES[name]
  if (name === 'field') return <Field name={name} label={label} value={value} autocomplete="off" optional="unmarked" />
  if (name === 'from' || name === 'to') return <DayField name={name} label={label} value={value} />
  return (
    <Select
      name={name}
      label={label}
      value={value}
      options={[{ value: '', label: ANY[name] }, ...choicesOf(name, props)]}
    />
  )
}

const chipsOf = (props: RequestsProps): Chip[] =>
  listFilters(props.view).map((name) => ({
    name: FILTER_NAMES[name],
    value: labelOf(name, props),
    href: requestsPath(props.viewer.app.publicId, { ...props.view, [name]: '' }),
  }))

function labelOf(name: FilterName, props: RequestsProps): string {
  const value = props.view[name]
  if (name === 'key') return describeCaller(value, props.names)
  return choicesOf(name, props).find((one) => one.value === value)?.label ?? value
}

function RequestList(props: RequestsProps) {
  const { viewer, view, names, rows, isOld, older } = props
  const { publicId: appId } = viewer.app
  const live = `/apps/${appId}/requests-live?${writeView(view)}`
  return (
    <>
      {!isOld && <FeedPending noun="request" />}
      <ol
        class={names.apps.length > 1 ? 'feed requests of-apps' : 'feed requests'}
        data-feed={isOld ? undefined : live}
        data-cursor={rows[0]?.id ?? 0}
      >
        {rows.map((row) => (
          <RequestRow key={row.id} appId={appId} row={row} names={names} />
        ))}
      </ol>
      {rows.length === 0 && <NoRows {...props} />}
      {!isOld && <FeedZone zone={formatZone(viewer.app.timezone)} />}
      <div class="list-foot">
        <Pager
          newest={isOld ? requestsPath(appId, view) : undefined}
          older={older === null ? undefined : requestsPath(appId, view, { before: String(older) })}
        />
        {rows.length > 0 && (
          <p class="hint">
            Export {isNarrowed(view) ? 'all that match' : `all${WORDS[view.kind]} requests`} as{' '}
            <a href={exportPath(appId, view)}>CSV</a>
          </p>
        )}
      </div>
    </>
  )
}

const NoRows = ({ viewer, view, isOld, fault }: RequestsProps) => {
  const { publicId: appId } = viewer.app
  if (isOld) return <EmptyState title="Nothing older">You've reached the oldest request in the log.</EmptyState>
  if (isNarrowed(view))
    return (
      <EmptyState
        title="No requests match"
        next={<ButtonLink href={requestsPath(appId, { kind: view.kind })}>Clear filters</ButtonLink>}
      >
        {fault ? 'Change the days in the filter.' : 'New requests that match appear here.'}
      </EmptyState>
    )
  if (view.kind === 'refused')
    return (
      <EmptyState
        title="No refused requests"
        next={<ButtonLink href={requestsPath(appId, { kind: 'accepted' })}>Show accepted requests</ButtonLink>}
      >
        Refused requests, such as those with a wrong key or a missing field, appear here within a second.
      </EmptyState>
    )
  return (
    <EmptyState
      title="No requests yet"
      next={
        <ButtonLink kind="primary" href={pathOf(appId, 'activation')}>
          Send the first one
        </ButtonLink>
      }
    >
      Requests from your servers, AI clients, pages and email providers appear here.
    </EmptyState>
  )
}
