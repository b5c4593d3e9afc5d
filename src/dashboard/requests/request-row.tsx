/** @jsxImportSource preact */
import type { RequestRow as Row } from '../../store/requests.ts'
import { SentText } from '../ui/text.tsx'
import { Moment } from '../ui/time.tsx'
import { pathOf } from '../layout/frame.tsx'
import { appOf, describeCall, describeCaller, type RequestNames, StatusBadge } from './request-labels.tsx'

const NAME_MOST = 60

export const requestPath = (appId: string, requestId: string): string => `${pathOf(appId, 'requests')}/${requestId}`

/** One line; the whole row is a link. */
export const RequestRow = ({ appId, row, names }: { appId: string; row: Row; names: RequestNames }) => (
  <li data-id={row.id}>
    <Moment at={row.at} />
    <a class="what" href={requestPath(appId, row.requestId)}>
      <StatusBadge status={row.status} />
      <Outcome {...row} />
    </a>
    <span class="call">
      <code>{describeCall(row)}</code>
      {row.tool !== null && <code class="hint"> {row.tool}</code>}
    </span>
    <span class="who">
      <SentText most={NAME_MOST}>{describeCaller(row.caller, names)}</SentText>
    </span>
    {names.apps.length > 1 && (
      <span class="app">
        <SentText most={NAME_MOST}>{appOf(row.appId, names)?.name ?? '–'}</SentText>
      </span>
    )}
    <code class="request-id">{row.requestId}</code>
  </li>
)

const Outcome = ({ code, field, count }: Pick<Row, 'code' | 'field' | 'count'>) =>
  code === null ? (
    <span>Accepted</span>
  ) : (
    <>
      <code>{code}</code>
      {field !== null && <code class="hint">{field}</code>}
      {count > 1 && <span class="hint">×{count.toLocaleString('en')}</span>}
    </>
  )
