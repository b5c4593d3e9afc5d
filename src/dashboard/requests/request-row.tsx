/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { ERROR_CODES } from '../../docs/error-codes.ts'
import type { RequestRow as Row } from '../../store/requests.ts'
import { SentText, Ticked } from '../ui/text.tsx'
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
    <span class="why" title={describeRefused(row).replaceAll('`', '')}>
      <Ticked>{describeRefused(row)}</Ticked>
    </span>
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
  </li>
)

/** After the field that was wrong, so that a narrow row doesn't cut its name; empty if it was accepted. */
function describeRefused({ code, field }: Pick<Row, 'code' | 'field'>): string {
  const meaning = (code !== null && ERROR_CODES.get(code)?.meaning) || ''
  return field === null ? meaning : `\`${field}\`: ${meaning}`
}

const Outcome = ({ code, count }: Pick<Row, 'code' | 'count'>) =>
  code === null ? (
    <span>Accepted</span>
  ) : (
    <>
      <code>{code}</code>
      {count > 1 && <span class="hint">×{formatCount(count)}</span>}
    </>
  )
