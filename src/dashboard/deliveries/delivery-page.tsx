/** @jsxImportSource preact */
import type { ReadMail } from '../../mail/captured-mail.ts'
import type { FoundDelivery, JoinedEvent } from '../../deliveries/delivery-lists.ts'
import type { RenderedMail } from '../../messages/mailer.ts'
import { publicId } from '../../core/public-ids.ts'
import { sayTemplateFault } from '../../deliveries/verdict-words.ts'
import type { TemplateFault } from '../../messages/templates.ts'
import { DeliveryBadge, deliveryPath } from './delivery-words.tsx'
import { messagePath } from '../messages/messages-page.tsx'
import { ResendForm } from './delivery-resend.tsx'
import { DeliveryTimeline, RulesSection, ReplySection } from './delivery-record.tsx'
import { previewOf } from '../events/event-words.ts'
import { eventPath, personPath } from '../events/feed.tsx'
import { Frame } from '../layout/frame.tsx'
import { MailNotices, type MailState } from '../layout/mail-notices.tsx'
import { MailPreview } from '../ui/mail-preview.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime } from '../ui/time.tsx'
import { type Moment, Timeline } from '../ui/timeline.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** What was kept, with its source; what would be written now; or why nothing can be. */
export type ReadableMail =
  (ReadMail & { raw: string; keptAt: number }) | (RenderedMail & Pick<ReadMail, 'from' | 'to'>) | TemplateFault

export type DeliveryProps = {
  viewer: Viewer
  mailState: MailState
  shown: FoundDelivery
  mail: ReadableMail
  /** what could not be done */
  notice?: string
  now: number
}

/** One message to one person: what became of it, everything that was looked at, and the mail itself. */
export const DeliveryPage = (props: DeliveryProps) => (
  <Frame
    viewer={props.viewer}
    page="deliveries"
    title={props.shown.work.message.name}
    tabTitle={`${props.shown.work.message.name} to ${props.shown.work.contact.email}`}
    state={<SentText>{props.shown.explained.why}</SentText>}
    action={<ResendForm {...props} />}
  >
    {props.notice && <Notice kind="error">{props.notice}</Notice>}
    <MailNotices viewer={props.viewer} state={props.mailState} />
    <div class="columns words-first">
      <div>
        <ReplySection explained={props.shown.explained} />
        <RulesSection explained={props.shown.explained} />
        <MailSection {...props} />
      </div>
      <aside aria-label="About this delivery">
        <FactsSection {...props} />
        <JoinedSection {...props} />
        <DeliveryTimeline shown={props.shown} now={props.now} />
      </aside>
    </div>
  </Frame>
)

const FactsSection = ({ viewer, shown: { work } }: DeliveryProps) => {
  const { delivery, contact, message, event, lead } = work
  const appId = viewer.app.publicId
  return (
    <section>
      <h2>About it</h2>
      <Values isCompact>
        <Fact name="State">
          <DeliveryBadge delivery={delivery} />
        </Fact>
        <Fact name="Person">
          <a href={personPath(appId, contact.id)}>
            <SentText>{contact.email}</SentText>
          </a>
        </Fact>
        <Fact name="Message">
          <span>
            <a href={messagePath(appId, message.id)}>
              <SentText>{message.name}</SentText>
            </a>
            , version {delivery.version}
          </span>
        </Fact>
        {event && (
          <Fact name="Event">
            <a href={eventPath(appId, event.id)}>
              <SentText>{event.name}</SentText>
            </a>
          </Fact>
        )}
        {lead && (
          <Fact name="Joined">
            <a href={deliveryPath(appId, lead.id)}>An email that was waiting</a>
          </Fact>
        )}
        <Fact name="Due">
          <ExactTime at={delivery.dueAt} />
        </Fact>
        <Fact name="Attempts">{String(delivery.attempt)}</Fact>
        {delivery.byHand && <Fact name="Sent on">By a member</Fact>}
        <Value id="delivery-id" name="Delivery ID">
          {publicId('dlv', delivery.id)}
        </Value>
      </Values>
    </section>
  )
}

/** The further events that the email lists. */
const JoinedSection = ({ viewer, shown: { work }, now }: DeliveryProps) =>
  work.joined.length === 0 ? null : (
    <section id="joined">
      <h2>Events that joined</h2>
      <p class="hint">The email lists them too.</p>
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
    <h2>The mail</h2>
    {'html' in mail ? (
      <>
        <p class="hint">
          {'keptAt' in mail ? (
            <>
              As it was kept on <ExactTime at={mail.keptAt} />. It did not leave this installation.
            </>
          ) : (
            'As it would be written now. What people were sent is not stored.'
          )}
        </p>
        <MailPreview
          name="view"
          mail={{ ...mail, src: `${deliveryPath(viewer.app.publicId, shown.work.delivery.id)}/mail` }}
        />
      </>
    ) : (
      <Notice kind="caution">
        It could not be written now. <SentText>{sayTemplateFault(mail)}</SentText>
      </Notice>
    )}
  </section>
)
