/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { ERROR_CODES } from '../../docs/error-codes.ts'
import type { RequestRow as Row } from '../../store/requests.ts'
import { Frame } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { ButtonLink } from '../ui/button.tsx'
import { SentText, Ticked } from '../ui/text.tsx'
import { Moment, Time } from '../ui/time.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import {
  appOf,
  describeApp,
  describeCall,
  describeCaller,
  describeFix,
  describeMeaning,
  remedyOf,
  type RequestNames,
  StatusBadge,
} from './request-labels.tsx'
import { NO_APP_NAME, requestsPath } from './requests-view.ts'

/** `rows`: several for a batch whose events were refused for different reasons. */
type RequestProps = { viewer: Viewer; row: Row; rows: Row[]; names: RequestNames; now: number }

export const RequestPage = (props: RequestProps) => (
  <Frame
    viewer={props.viewer}
    page="requests"
    title={props.row.code === null ? 'Request accepted' : 'Request refused'}
    tabTitle={`${props.row.status} ${props.row.code ?? 'accepted'}`}
    state={<State {...props} />}
    action={<ButtonLink href={requestsPath(props.viewer.app.publicId, {})}>All requests</ButtonLink>}
  >
    <div class="columns text-first">
      <div>
        {props.rows.map((row) => (
          <Outcome key={row.id} {...props} row={row} />
        ))}
      </div>
      <aside aria-label="Request">
        <FactsSection {...props} />
      </aside>
    </div>
  </Frame>
)

const State = ({ row, names, now }: RequestProps) => (
  <>
    <code>{describeCall(row)}</code>, <Time at={row.at} now={now} />, {describeSender(row, names)}.
  </>
)

const describeSender = ({ caller }: Row, names: RequestNames) => {
  const isKey = names.keys.some(({ id }) => id === caller)
  return (
    <>
      {isKey && 'with the key “'}
      <SentText most={80}>
        {isKey ? describeCaller(caller, names) : describeCaller(caller, names).toLowerCase()}
      </SentText>
      {isKey && '”'}
    </>
  )
}

const Outcome = ({ viewer, row, names }: RequestProps) => {
  if (row.code === null) return <Accepted />
  const { publicId: appId } = viewer.app
  const explained = ERROR_CODES.get(row.code)
  const remedy = remedyOf(row, appId)
  const app = appOf(row.appId, names)?.publicId ?? NO_APP_NAME
  return (
    <section>
      <h2 class="refusal">
        <StatusBadge status={row.status} /> <code>{row.code}</code>
      </h2>
      <p>
        <Ticked>{describeMeaning(row) ?? explained?.meaning ?? 'The response says what was wrong.'}</Ticked>
        {row.field !== null && (
          <>
            {' '}
            {row.field.includes(',') ? 'Fields' : 'Field'}: <code>{row.field}</code>.
          </>
        )}
      </p>
      {explained && (
        <>
          <h3>What to do</h3>
          <p>
            <Ticked>{describeFix(row) ?? explained.fix}</Ticked>
          </p>
        </>
      )}
      {row.count > 1 && (
        <p class="hint">
          {formatCount(row.count)} identical requests within one second. The ID and time are those of the last one.
        </p>
      )}
      <div class="buttons">
        {remedy && (
          <ButtonLink kind="primary" href={remedy.href}>
            {remedy.label}
          </ButtonLink>
        )}
        <ButtonLink href={requestsPath(appId, { code: row.code, app })}>Similar requests</ButtonLink>
        <ButtonLink href="/docs/errors">All errors</ButtonLink>
      </div>
    </section>
  )
}

const Accepted = () => (
  <section>
    <h2>Accepted</h2>
    <p>This request succeeded. Accepted requests are sampled: one per second per key, or per app if there is no key.</p>
  </section>
)

const FactsSection = ({ row, names }: RequestProps) => (
  <section>
    <h2>Details</h2>
    <Values isCompact>
      <Value id="request-id" name="Request ID">
        {row.requestId}
      </Value>
      <Fact name="Received">
        <Moment at={row.at} />
      </Fact>
      <Fact name="Request">
        <code>{describeCall(row)}</code>
      </Fact>
      {row.tool !== null && (
        <Fact name="Tool">
          <code>{row.tool}</code>
        </Fact>
      )}
      <Fact name="Key">
        <SentText>{describeCaller(row.caller, names)}</SentText>
      </Fact>
      <Fact name="App">
        <SentText>{describeApp(row, names)}</SentText>
      </Fact>
    </Values>
    <p class="hint">Values, bodies and keys aren't stored.</p>
  </section>
)
