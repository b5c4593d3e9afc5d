/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import { UNREADABLE_SERVER } from '../../accounts/mail-server.ts'
import { describeBrakeCause } from '../../deliveries/brake.ts'
import { describeReason } from '../../deliveries/describe-reason.ts'
import { describeLostUrl } from '../../people/unsubscribe.ts'
import type { Brake } from '../../store/brake-rules.ts'
import { describeStuck, describeWait, IS_PROBLEM, type MailState } from '../../monitoring/mail-state.ts'
import { pathOf, type SenderPage } from './frame.tsx'
import { Notice, type NoticeKind } from '../ui/notice.tsx'
import { SectionLinks } from '../ui/sections.tsx'
import { Command, SentText } from '../ui/text.tsx'
import { ExactTime } from '../ui/time.tsx'
import type { Viewer } from './viewer.ts'

/** How to set the address that links in emails lead to. */
export const PUBLIC_ADDRESS = '/docs/hosting#public-address'

export const CAPTURED_COUNTS =
  "Captured emails count towards “How often” and the limits per person, but don't count as sent."

const kindOf = (about: keyof typeof IS_PROBLEM): NoticeKind => (IS_PROBLEM[about] ? 'problem' : 'caution')

/** `on`: the current page, which needs no link. */
type NoticesProps = { viewer: Viewer; state: MailState; on?: SenderPage | 'outbox' }

export const MailNotices = ({ viewer, state, on }: NoticesProps) => {
  const isOfSender = on?.startsWith('sender') === true
  return (
    <>
      {isOfSender || <SettingNotices viewer={viewer} state={state} on={on} />}
      {on === 'sender' && <FromNotices viewer={viewer} state={state} on={on} />}
      {!isOfSender && state.brake && <Braked viewer={viewer} brake={state.brake} />}
      {(!isOfSender || on === 'sender/server') && <ServerNotices viewer={viewer} state={state} on={on} />}
    </>
  )
}

type ForOwnerProps = { viewer: Viewer; page: 'sender' | 'sender/server'; label: string; verb: string }

/** Others see what is set, but can't change it. */
export const ForOwner = ({ viewer: { app, member }, page, label, verb }: ForOwnerProps) =>
  hasRole(member.role, 'owner') ? (
    <a href={pathOf(app.publicId, page)}>{label}</a>
  ) : (
    <>
      An owner can {verb} under <a href={pathOf(app.publicId, page)}>Sender</a>
    </>
  )

/** Shown outside Sender, whose pages say this in their first line. */
const SettingNotices = ({ viewer, state: { hasSender, isCapturing, isUnreadable, unverified }, on }: NoticesProps) => (
  <>
    {!hasSender && (
      <Notice kind="caution">
        No sender address is set. Messages without an address of their own send no emails.{' '}
        <ForOwner viewer={viewer} page="sender" label="Set a sender address" verb="set one" />.
      </Notice>
    )}
    {isCapturing && (hasSender || on !== undefined) && (
      <Notice kind={kindOf('capturing')}>
        No mail server yet. Emails are captured{' '}
        {on === 'outbox' ? 'here' : <a href={pathOf(viewer.app.publicId, 'outbox')}>in the outbox</a>}.{' '}
        <ForOwner viewer={viewer} page="sender/server" label="Set up a mail server" verb="set one up" />.
      </Notice>
    )}
    {isUnreadable && (
      <Notice kind={kindOf('unreadable')}>
        {UNREADABLE_SERVER}{' '}
        <ForOwner
          viewer={viewer}
          page="sender/server"
          label="Set up the mail server again"
          verb="set up the mail server again"
        />
        .
      </Notice>
    )}
    <Unverified viewer={viewer} unverified={unverified} />
  </>
)

const FromNotices = ({ viewer, state, on }: NoticesProps) => {
  const { lostUrl, unverified, pause } = state
  return (
    <>
      {pause?.reason.startsWith('from_') && <Outage viewer={viewer} state={state} on={on} />}
      {lostUrl !== null && (
        <Notice kind={kindOf('lostUrl')}>
          {describeLostUrl(lostUrl)} <SetAddress />
        </Notice>
      )}
      <Unverified viewer={viewer} unverified={unverified} />
    </>
  )
}

/** For pages with links that only this machine can open. */
export const SetAddress = () => (
  <>
    Set the public address in <code>EVENTPOST_BASE_URL</code> or with{' '}
    <Command>--base-url https://post.example.com</Command>. <a href={PUBLIC_ADDRESS}>How to set it</a>
  </>
)

const Unverified = ({ viewer, unverified }: Pick<NoticesProps, 'viewer'> & Pick<MailState, 'unverified'>) =>
  unverified.length === 0 ? null : (
    <Notice kind={kindOf('unverified')}>
      Emails from {new Intl.ListFormat('en').format(unverified)} wait until this account verifies the{' '}
      {unverified.length === 1 ? 'domain' : 'domains'}.{' '}
      <a href={`${pathOf(viewer.app.publicId, 'sender/domain')}#domains`}>
        Show the {unverified.length === 1 ? 'record' : 'records'} to add
      </a>
      .
    </Notice>
  )

const Braked = ({ viewer, brake }: { viewer: Viewer; brake: Brake }) => (
  <Notice kind={kindOf('brake')}>
    {`${describeBrakeCause(brake)}, so lifecycle emails wait. None are lost. `}
    <a href={pathOf(viewer.app.publicId, 'sender/rates')}>Show the rates</a>.
  </Notice>
)

/** Where the connection to the mail server is checked. */
export const SERVER_CHECK = 'server-check'
export const checkPath = (appId: string): string => `${pathOf(appId, 'sender/server')}#${SERVER_CHECK}`

/** Each problem once: an outage is also why emails wait, and why sending is paused. */
function ServerNotices(props: NoticesProps) {
  const { stuck, pause, problem } = props.state
  if (problem) return <Outage {...props} />
  if (pause) return <Paused {...props} />
  if (!stuck) return null
  return (
    <Notice kind={kindOf('stuck')}>
      {describeStuck(stuck)}
      <CheckLink {...props} />
    </Notice>
  )
}

const CheckLink = ({ viewer, on }: NoticesProps) => (
  <>
    {' '}
    <a href={on === 'sender/server' ? `#${SERVER_CHECK}` : checkPath(viewer.app.publicId)}>Check the connection</a>.
  </>
)

function Outage(props: NoticesProps) {
  const { state } = props
  if (state.problem === null) return null
  const { what, since, cause } = state.problem
  return (
    <Notice kind={kindOf('server')}>
      <SentText>{what}</SentText>
      {since !== null && (
        <>
          {' '}
          (since <ExactTime at={since} />)
        </>
      )}
      . {cause !== null && <SentText>{cause}</SentText>} {describeWait(state)}
      {props.on !== 'sender' && <CheckLink {...props} />}
    </Notice>
  )
}

/** At the request of the server. */
function Paused({ state }: NoticesProps) {
  const { pause } = state
  if (pause === null) return null
  return (
    <Notice kind={kindOf('pause')}>
      {pause.isOwn ? (
        "This app's emails wait"
      ) : (
        <>
          Sending through <code>{pause.server}</code> is paused
        </>
      )}{' '}
      until <ExactTime at={pause.until} />. {describeReason(pause.reason, '', 'deferred')} {describeWait(state)}
    </Notice>
  )
}

const SECTIONS = { deliveries: 'Deliveries', outbox: 'Outbox', suppressions: 'Suppressions' } as const

export const DeliverySections = ({ viewer, current }: { viewer: Viewer; current: keyof typeof SECTIONS }) => (
  <SectionLinks
    label="Deliveries"
    links={(['deliveries', 'outbox', 'suppressions'] as const).map((name) => ({
      name: SECTIONS[name],
      href: pathOf(viewer.app.publicId, name),
      isCurrent: name === current,
    }))}
  />
)
