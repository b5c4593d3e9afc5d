/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../core/clock.ts'
import type { KeyRow } from '../../accounts/accounts.ts'
import { ERROR_CODES } from '../../docs/error-codes.ts'
import type { Activation, Noted } from '../../events/activation.ts'
import type { RefusalGroup, Refusals } from '../../store/requests.ts'
import { pathOf } from '../layout/frame.tsx'
import { NO_APP_NAME, OWN_OR_NO_APP, requestsPath } from '../requests/requests-view.ts'
import { StatusBadge } from '../requests/request-labels.tsx'
import { Badge } from '../ui/badge.tsx'
import { Ticked } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'

/** Older notes are not shown. */
const SHOWN_MS = 7 * DAY_MS
const MOST_REFUSALS = 5

type TroubleProps = {
  activation: Activation
  refused: Refusals
  keys: KeyRow[]
  /** a rotated secret is still valid */
  hasOldSecret: boolean
  appId: string
  now: number
}

/** Recent refusals, and what was accepted without effect. */
export function Trouble(props: TroubleProps) {
  const cautions = listCautions(props)
  const { groups } = props.refused
  if (groups.length + cautions.length === 0) return <p class="hint">No recent request was refused.</p>
  return (
    <>
      <ul class="troubles">
        {groups.slice(0, MOST_REFUSALS).map((one) => (
          <Refused key={one.lastId} {...props} refusal={one} />
        ))}
        {cautions.map(({ mood, title, text, noted }) => (
          <li key={title}>
            <Badge mood={mood ?? 'caution'}>{title}</Badge>
            <p>{text}</p>
            {noted && <Count {...noted} now={props.now} />}
          </li>
        ))}
      </ul>
      {groups.length > 0 && (
        <p class="all-refused">
          <a href={requestsPath(props.appId, { app: OWN_OR_NO_APP })}>All refused requests</a>
        </p>
      )}
    </>
  )
}

const Refused = ({ refusal, ...props }: TroubleProps & { refusal: RefusalGroup }) => {
  const { code, field, status, appId, count, lastAt } = refusal
  const app = appId === null ? NO_APP_NAME : props.appId
  return (
    <li>
      <p class="with-badge">
        <StatusBadge status={status} />
        <a href={requestsPath(props.appId, { code, app, ...(field !== null && { field }) })}>
          <code>{code}</code>
        </a>
        {field !== null && <code class="hint">{field}</code>}
      </p>
      <p>{explain(code, props)}</p>
      <p class="hint small">
        {describeTimes(count, props.refused)}
        <Time at={lastAt} now={props.now} />
      </p>
    </li>
  )
}

function describeTimes(count: number, { isCut }: Refusals): string {
  if (isCut) return `At least ${count === 1 ? 'once' : `${formatCount(count)} times`}, last `
  return count === 1 ? 'Once, ' : `${formatCount(count)} times, last `
}

/** The noted reason is more specific than the code. */
function explain(code: string, { activation, appId }: TroubleProps): ComponentChildren {
  const { failedSignature, foreignHost } = activation
  if (code === 'invalid_signature' && failedSignature) return <WrongSignature {...failedSignature} />
  if (code === 'origin_not_allowed' && foreignHost) return <ForeignHost {...foreignHost} appId={appId} />
  return <Ticked>{ERROR_CODES.get(code)?.meaning ?? ''}</Ticked>
}

type Caution = { mood?: 'bad'; title: string; text: ComponentChildren; noted?: Noted }

function listCautions({ activation, keys, hasOldSecret, appId, now }: TroubleProps): Caution[] {
  const lately = (noted: Noted | null): Noted | null => (noted && now - noted.lastAt < SHOWN_MS ? noted : null)
  const about: [Noted | null, Caution][] = [
    [activation.withoutEmail, WITHOUT_EMAIL],
    [activation.unknownPeople, { title: 'Unknown people', text: <UnknownPeople appId={appId} /> }],
    [hasOldSecret ? activation.oldSecret : null, OLD_SECRET],
  ]
  const noted = about.flatMap(([one, caution]) => {
    const recent = lately(one)
    return recent ? [{ ...caution, noted: recent }] : []
  })
  return [...noted, ...keys.filter(({ seenInBrowserAt }) => seenInBrowserAt !== null).map((key) => exposed(key, appId))]
}

const WITHOUT_EMAIL: Caution = {
  title: 'Events or page views without an email',
  text: "Every event and page view needs a person. Include the signed-in person's email.",
}

const OLD_SECRET: Caution = {
  title: 'Signatures with a previous secret',
  text: 'A server still signs with the previous identity secret, which stops working 24 hours after the rotation.',
}

const REASONS = new Map<string, string>(
  Object.entries({
    uppercase: 'It was uppercase. Send lowercase hexadecimal.',
    malformed: 'It was not 64 hexadecimal characters.',
  }),
)

const From = ({ origin }: Noted) => (origin === null ? null : <> Last from {origin}.</>)

const WrongSignature = (noted: Noted) => (
  <>
    {REASONS.get(noted.reason ?? '') ?? 'It matches none of your identity secrets.'}
    <From {...noted} /> <a href="#check">Check a signature</a>
  </>
)

const ForeignHost = ({ appId, ...noted }: Noted & { appId: string }) => (
  <>
    The browser script isn't allowed on this host.
    <From {...noted} /> Add it to the allowed hosts in <a href={pathOf(appId, 'settings')}>Settings</a>.
  </>
)

const UnknownPeople = ({ appId }: { appId: string }) => (
  <>
    Pages reported people this app doesn't know. Send an event with <code>createContact</code> for each. Or, in{' '}
    <a href={pathOf(appId, 'settings')}>Settings</a>, let the browser script add people.
  </>
)

const exposed = ({ name }: KeyRow, appId: string): Caution => ({
  mood: 'bad',
  title: 'A key was seen in a browser',
  text: (
    <>
      Anyone who opens the page that sent “{name}” can read it. In <a href={pathOf(appId, 'keys')}>API keys</a>, create
      a new key for your server, then revoke this one.
    </>
  ),
})

const Count = ({ count, lastAt, origin, now }: Noted & { now: number }) => (
  <p class="hint small">
    {count === 1 ? 'Once, ' : `${formatCount(count)} times, last `}
    <Time at={lastAt} now={now} />
    {origin !== null && `, from ${origin}`}
  </p>
)
