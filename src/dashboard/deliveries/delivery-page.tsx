/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import {
  CANCELLED,
  countDeferrals,
  findUnconfirmed,
  isCancellable,
  isEventDeleted,
  isLifecycle,
  isSendableEarly,
  isResent,
  mayHaveArrivedTwice,
  mayResend,
  type DeliveryRow,
  type DeliveryState,
  type FoundDelivery,
  SUPPRESSION_REASONS,
  type UnwantedReason,
  type JoinedEvent,
} from '../../deliveries/delivery-lists.ts'
import type { CapturedMail } from '../../mail/captured-mail.ts'
import { Dialog } from '../ui/dialog.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { hasRole } from '../../accounts/members.ts'
import type { RenderedMail } from '../../messages/mailer.ts'
import { publicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { describeBrakeCause } from '../../deliveries/brake.ts'
import { NO_MAILBOX } from '../../deliveries/describe-reason.ts'
import { describeTemplateFault } from '../../deliveries/describe-verdict.ts'
import type { TemplateFault } from '../../messages/template-faults.ts'
import { DeliveryBadge, deliveryPath, LimitLink, nameNext, statesOf } from './delivery-labels.tsx'
import { messagePath, openPath } from '../messages/messages-page.tsx'
import { DeliveryTimeline, ReplyFact, ReplySection, RulesSection } from './delivery-record.tsx'
import { previewOf } from '../events/event-labels.ts'
import { eventPath, personPath } from '../events/feed.tsx'
import { Frame } from '../layout/frame.tsx'
import { MailNotices } from '../layout/mail-notices.tsx'
import { RESTORED } from '../../store/delivery-states.ts'
import type { MailState } from '../../monitoring/mail-state.ts'
import { MailPreview } from '../ui/mail-preview.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime } from '../ui/time.tsx'
import { type Moment, Timeline } from '../ui/timeline.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** The captured email with its source, a new rendering, or the reason why there is neither. */
export type ReadableMail =
  | (CapturedMail & { raw: string; capturedAt: number })
  | (RenderedMail & Pick<CapturedMail, 'from' | 'to'> & { version: number })
  | TemplateFault

export type Cancelled = { at: number; by: string }

export type DeliveryProps = {
  viewer: Viewer
  mailState: MailState
  shown: FoundDelivery
  /** null: another delivery has the email */
  mail: ReadableMail | null
  /** `at`: ms UTC; `by`: its name. null: neither a member nor an API key cancelled it */
  cancelled: Cancelled | null
  /** the API key that sent it; null: it was triggered */
  sentBy: string | null
  /** the member who sent it again or anyway; null: nobody, or not known */
  sentOnBy: string | null
  /** the member who sent it although it was blocked; null: nobody, or not known */
  overriddenBy: string | null
  /** the person's address on Suppressions */
  suppressionPath: string
  /** error of the last action */
  notice?: string
  now: number
}

export const DeliveryPage = (props: DeliveryProps) => (
  <Frame
    viewer={props.viewer}
    page="deliveries"
    title={`Email to ${props.shown.work.contact.email}`}
    tabTitle={`${props.shown.work.message.name}: email to ${props.shown.work.contact.email}`}
    state={
      <span data-live="state" aria-live="polite">
        <State {...props} />
      </span>
    }
    action={<Actions {...props} />}
    islands={['live']}
  >
    {props.notice && <Notice kind="error">{props.notice}</Notice>}
    <MailNotices viewer={props.viewer} state={props.mailState} />
    <div
      class="columns text-first"
      data-live-from={`${deliveryPath(props.viewer.app.publicId, props.shown.work.delivery.id)}/live`}
      data-live-gone="Email"
    >
      <div data-live="text">
        <DeliveryText {...props} />
      </div>
      <aside aria-label="About this delivery" data-live="about">
        <AboutDelivery {...props} />
      </aside>
    </div>
  </Frame>
)

export const State = (props: DeliveryProps) => (
  <>
    <SentText>{describeState(props)}</SentText>
    <LimitLink appId={props.viewer.app.publicId} delivery={props.shown.work.delivery} />
  </>
)

export const DeliveryText = (props: DeliveryProps) => (
  <>
    <ReplySection {...props.shown} />
    <RulesSection {...props.shown} />
    <MailSection {...props} />
  </>
)

export const AboutDelivery = (props: DeliveryProps) => (
  <>
    <FactsSection {...props} />
    <JoinedSection {...props} />
    <DeliveryTimeline {...props} />
  </>
)

const describeState = ({ shown: { explained, work }, cancelled }: DeliveryProps): string =>
  cancelled && work.delivery.reason === CANCELLED ? `${cancelled.by} cancelled this email.` : explained.why

const FactsSection = ({ viewer, shown, sentBy, sentOnBy }: DeliveryProps) => {
  const { work } = shown
  const { delivery, contact, event, lead, send } = work
  const appId = viewer.app.publicId
  const deferrals = countDeferrals(delivery)
  return (
    <section>
      <h2>Details</h2>
      <p class="hint" role="status" data-stream-reason />
      <Values isCompact>
        <Fact name="State">
          <DeliveryBadge delivery={delivery} />
        </Fact>
        <Fact name="Person">
          <a href={personPath(appId, contact.id)}>
            <SentText>{contact.email}</SentText>
          </a>
        </Fact>
        <MessageFact appId={appId} work={work} />
        {sentBy !== null && (
          <Fact name="Requested by">
            <SentText>{sentBy}</SentText>
          </Fact>
        )}
        {send && event?.properties != null && (
          <Fact name="Properties">
            <SentText most={160}>{previewOf(event)}</SentText>
          </Fact>
        )}
        {event && !send && (
          <Fact name="Event">
            <a href={eventPath(appId, event.id)}>
              <SentText>{event.name}</SentText>
            </a>
          </Fact>
        )}
        {isEventDeleted(work) && <Fact name="Event">Deleted because of its age</Fact>}
        {lead && (
          <Fact name="Added to">
            <a href={deliveryPath(appId, lead.id)}>another email</a>
          </Fact>
        )}
        <Fact name={nameNext(delivery) ?? 'Due'}>
          <ExactTime at={delivery.dueAt} />
        </Fact>
        {deferrals > 0 && <Fact name="Deferred">{deferrals === 1 ? 'Once' : `${formatCount(deferrals)} times`}</Fact>}
        <ReplyFact {...shown} />
        {delivery.byHand && (
          <Fact name="Sent by">
            <SentText>{sentOnBy ?? 'A member'}</SentText>
          </Fact>
        )}
        <Value id="delivery-id" name="Delivery ID">
          {publicId('dlv', delivery.id)}
        </Value>
      </Values>
    </section>
  )
}

const MessageFact = ({ appId, work: { delivery, message } }: { appId: string; work: FoundDelivery['work'] }) =>
  message.content.isOwnText ? (
    <Fact name={message.content.asksConsent ? 'Email' : 'Subject'}>
      <SentText>{message.name}</SentText>
    </Fact>
  ) : (
    <Fact name="Message">
      <span>
        <a href={openPath(appId, message)}>
          <SentText>{message.name}</SentText>
        </a>
        , version {delivery.version}
      </span>
    </Fact>
  )

const JoinedSection = ({ viewer, shown: { work }, now }: DeliveryProps) =>
  work.joined.length === 0 ? null : (
    <section id="joined">
      <h2>Joined events</h2>
      <p class="hint">This email also includes these events.</p>
      <Timeline now={now} moments={work.joined.map((one) => toMoment(viewer.app.publicId, one))} />
    </section>
  )

const toMoment = (appId: string, { id, event, triggeredAt }: JoinedEvent): Moment => {
  const preview = previewOf(event)
  return {
    id: String(id),
    at: triggeredAt,
    what: (
      <a href={eventPath(appId, event.id)}>
        <SentText>{event.name}</SentText>
      </a>
    ),
    detail: preview === '' ? undefined : <SentText most={160}>{preview}</SentText>,
  }
}

const MailSection = ({ viewer, shown, mail }: DeliveryProps) => (
  <section id="mail">
    <h2>Email</h2>
    {mail === null ? (
      <>
        <p>Another email from this message includes this event.</p>
        {shown.work.lead && (
          <ButtonLink href={`${deliveryPath(viewer.app.publicId, shown.work.lead.id)}#mail`}>
            Open that email
          </ButtonLink>
        )}
      </>
    ) : isEventDeleted(shown.work) && !('capturedAt' in mail) ? (
      <p>It can't be shown any more, because its event was deleted.</p>
    ) : 'html' in mail ? (
      <>
        <p class="hint">
          {'capturedAt' in mail ? (
            <>
              Captured on <ExactTime at={mail.capturedAt} />. It was not sent.
            </>
          ) : (
            describeRendering(mail, shown)
          )}
        </p>
        <MailPreview
          name="view"
          mail={{ ...mail, src: `${deliveryPath(viewer.app.publicId, shown.work.delivery.id)}/mail` }}
        />
      </>
    ) : (
      <Notice kind="caution">
        It can't be previewed now. <SentText>{describeTemplateFault(mail)}</SentText>
      </Notice>
    )}
  </section>
)

const describeRendering = ({ version }: { version: number }, { work: { delivery } }: FoundDelivery): string =>
  version === delivery.version
    ? `This is how it renders now.${describeUnstored(delivery.state)}`
    : `This is how it renders with version ${version}, the newest.`

const describeUnstored = (state: DeliveryState): string => {
  if (state === 'kept') return ' The captured email was deleted because of its age.'
  return statesOf('left').includes(state) ? " Sent emails aren't stored." : ''
}

const LABELS: Partial<Record<DeliveryState, string>> = {
  skipped: 'Send it anyway',
  failed: 'Try again',
  unknown: 'Send it again',
  deferred: 'Send it anyway',
  kept: 'Send it',
}

export const Actions = (props: DeliveryProps) => (
  <>
    <HastenForm {...props} />
    <ResendForm {...props} />
    <CancelForm {...props} />
  </>
)

const isEditor = ({ viewer }: DeliveryProps): boolean => hasRole(viewer.member.role, 'editor')

function HastenForm(props: DeliveryProps) {
  const { viewer, shown, now } = props
  const { delivery, contact } = shown.work
  if (!isEditor(props) || shown.unwanted !== null || !isSendableEarly(delivery, now)) return null
  const label = delivery.byHand ? 'Send it now' : 'Check and send now'
  return (
    <Dialog id="send-now" opener={label} title={`Send this email to ${contact.email} now?`}>
      <p>
        {delivery.byHand
          ? 'The next attempt is made now instead of on '
          : 'Its rules, sending hours and limits per person are checked now instead of on '}
        <ExactTime at={delivery.dueAt} />.{' '}
        {delivery.byHand
          ? "A member or an API key started this email, so rules, sending hours and limits per person are not checked again. Suppressions still apply. The brake doesn't apply to emails sent one at a time."
          : 'If a rule stops it, it is skipped. If the hours, a limit or the brake stops it, it waits again.'}
      </p>
      {'collect' in (shown.work.message.content.again ?? {}) && <p>Later events start another email.</p>}
      <ActionForm action={`${deliveryPath(viewer.app.publicId, delivery.id)}/send-now`} kind="primary">
        {label}
      </ActionForm>
    </Dialog>
  )
}

function CancelForm(props: DeliveryProps) {
  const { viewer, shown } = props
  const { delivery, contact, joined, message } = shown.work
  const { trigger } = message.content
  if (!isEditor(props) || !isCancellable(delivery.state)) return null
  return (
    <Dialog id="cancel" opener="Cancel this email" kind="danger" title="Cancel this email?" closer="Keep it">
      <p>
        <SentText>{contact.email}</SentText> won't get it.
        {('event' in trigger || 'page' in trigger) && ' A later event can trigger the message again.'}
      </p>
      {joined.length > 0 && <p>The other events in this email are cancelled, too.</p>}
      <ActionForm action={`${deliveryPath(viewer.app.publicId, delivery.id)}/cancel`} kind="danger">
        Cancel this email
      </ActionForm>
    </Dialog>
  )
}

/** For editors. Shows what resending doesn't check, such as a possible duplicate. */
function ResendForm(props: DeliveryProps) {
  const { viewer, mailState, shown, mail } = props
  const { delivery, contact, message } = shown.work
  if (!mayResend(delivery, mailState) || !isEditor(props)) return null
  if (shown.unwanted !== null) return <Unwanted {...props} unwanted={shown.unwanted} />
  if (isEventDeleted(shown.work)) return <p class="hint">{REFUSALS.event_deleted.message}</p>
  if (!mail || !('html' in mail)) {
    return message.content.isOwnText ? (
      <p class="hint">This email can't be rendered, so it can't be sent. Send a new one over the API.</p>
    ) : (
      <p class="hint">
        This email can't be sent until the message is fixed.{' '}
        <a href={messagePath(viewer.app.publicId, message.id)}>Fix the message</a>, then send the email here.
      </p>
    )
  }
  const verb = LABELS[delivery.state] ?? 'Send it'
  return (
    <Dialog id="resend" opener={verb} title={`Send this email to ${contact.email}?`}>
      <Consequences {...props} />
      <ActionForm action={`${deliveryPath(viewer.app.publicId, delivery.id)}/resend`} kind="primary">
        {verb}
      </ActionForm>
    </Dialog>
  )
}

const SUPPRESSED: readonly string[] = SUPPRESSION_REASONS

/** These people can't be emailed, so resending isn't offered. The page's first sentence may say why. */
function Unwanted({
  viewer,
  shown: { work },
  suppressionPath,
  unwanted,
}: DeliveryProps & { unwanted: UnwantedReason }) {
  const { delivery, contact } = work
  const isSaid = delivery.reason === unwanted || delivery.reason === NO_MAILBOX
  return (
    <p class="hint">
      {isSaid ? "This email can't be sent. " : `${UNWANTED[unwanted]} `}
      {SUPPRESSED.includes(unwanted) ? (
        <a href={suppressionPath}>Suppressions</a>
      ) : (
        <a href={personPath(viewer.app.publicId, contact.id)}>Open the person</a>
      )}
    </p>
  )
}

const UNWANTED: Record<UnwantedReason, string> = {
  unsubscribed: "This email can't be sent: the person unsubscribed.",
  pending: "This email can't be sent: the person hasn't confirmed their address.",
  topic: "This email can't be sent: the person unsubscribed from its topic.",
  bounced: "This email can't be sent: the address bounced.",
  complained: "This email can't be sent: the person reported an email as spam.",
}

const Consequences = ({ mail, mailState: { brake }, shown: { work } }: DeliveryProps) => {
  const { delivery, message } = work
  return (
    <>
      <p>Rules, sending hours and limits per person are not checked again. Suppressions still apply.</p>
      {brake && isLifecycle(message.content) && (
        <p>{`The brake is on: ${describeBrakeCause(brake)}. This email is sent anyway.`}</p>
      )}
      {delivery.heldBackAt !== null && (
        <p>This person stays in the holdback group, so the comparison in Results becomes less accurate.</p>
      )}
      <Doubt delivery={delivery} />
      {isResent(message.content) && delivery.state !== 'skipped' && (
        <p>{delivery.resent ? WAS_RESENT : MAY_BE_RESENT}</p>
      )}
      {mail && 'version' in mail && mail.version !== delivery.version && (
        <p>{`It is sent with version ${mail.version} of the message, the newest.`}</p>
      )}
      {mail && 'capturedAt' in mail && (
        <p>{`It is rendered again with version ${delivery.version} of the message, and leaves the outbox once it is sent.`}</p>
      )}
    </>
  )
}

const Doubt = ({ delivery }: { delivery: DeliveryRow }) => {
  if (mayHaveArrivedTwice(delivery)) return <p>They may already have received it twice.</p>
  const isOpen = delivery.state === 'unknown' || delivery.reason === RESTORED || findUnconfirmed(delivery) !== null
  return isOpen ? <p>They may already have received it.</p> : null
}

const MAY_BE_RESENT = "If delivery isn't confirmed, the email is resent once automatically."
const WAS_RESENT = "It was already resent once, because delivery wasn't confirmed."
