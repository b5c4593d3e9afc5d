/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import type { MessageExplanation } from '../../deliveries/delivery-lists.ts'
import type { EventRow } from '../../events/events.ts'
import type { EventOutcome } from '../../deliveries/message-explanations.ts'
import { hasRole } from '../../accounts/members.ts'
import { publicId } from '../../core/ids.ts'
import { describeEventName, previewOf } from '../events/event-labels.ts'
import { DeliveryBadge, deliveryPath } from '../deliveries/delivery-labels.tsx'
import { eventPath, personPath } from '../events/feed.tsx'
import { Frame } from '../layout/frame.tsx'
import { messagePath } from '../messages/messages-page.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Notice } from '../ui/notice.tsx'
import { Pager } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { type Moment, Timeline } from '../ui/timeline.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import { PersonMail } from './person-mail.tsx'
import { nameOfPerson, StatusBadge } from './person-labels.tsx'
import { Tags } from './tags.tsx'
import type { Viewer } from '../layout/viewer.ts'

type PersonProps = {
  viewer: Viewer
  person: ContactRow
  rows: EventRow[]
  /** events triggered emails, by message id */
  outcomes: Map<number, EventOutcome[]>
  isFirst: boolean
  /** first page only */
  messages: MessageExplanation[]
  /** cursor of the next page */
  older: string | null
  /** error of the last action */
  notice?: string
  now: number
}

export const PersonPage = (props: PersonProps) => (
  <Frame viewer={props.viewer} page="people" title={props.person.email} state={<State {...props} />}>
    {props.notice && <Notice kind="error">{props.notice}</Notice>}
    <div class="columns text-first">
      <div>
        {props.isFirst && <PersonMail viewer={props.viewer} messages={props.messages} />}
        <TimelineSection {...props} />
      </div>
      <aside aria-label="What is known">
        <FactsSection {...props} />
        <FieldsSection {...props} />
        <EraseSection {...props} />
      </aside>
    </div>
  </Frame>
)

function State({ person, now }: PersonProps) {
  const name = nameOfPerson(person)
  const latest = Math.max(person.lastSeenAt ?? 0, person.lastEventAt ?? 0)
  return (
    <>
      {name !== '' && (
        <>
          <SentText most={120}>{name}</SentText>.{' '}
        </>
      )}
      {latest === 0 ? (
        'Nothing has happened yet.'
      ) : (
        <>
          Last active <Time at={latest} now={now} />.
        </>
      )}
    </>
  )
}

const TimelineSection = ({ viewer, person, rows, outcomes, isFirst, older, now }: PersonProps) => {
  const path = personPath(viewer.app.publicId, person.id)
  return (
    <section>
      <h2>What happened</h2>
      {rows.length === 0 && isFirst && (
        <EmptyState title="Nothing yet">No event, page view or action of this person has come.</EmptyState>
      )}
      <Timeline now={now} moments={rows.map((row) => toMoment(viewer.app.publicId, row, outcomes.get(row.id) ?? []))} />
      <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
    </section>
  )
}

const toMoment = (appId: string, row: EventRow, outcomes: EventOutcome[]): Moment => {
  const preview = previewOf(row)
  return {
    id: publicId('evt', row.id),
    at: row.occurredAt,
    what: (
      <a href={eventPath(appId, row.id)}>
        <SentText>{describeEventName(row.name)}</SentText>
      </a>
    ),
    detail: preview === '' ? undefined : <SentText most={160}>{preview}</SentText>,
    followed: outcomes.map((one) => <Outcome key={one.message.id} appId={appId} outcome={one} />),
  }
}

/** The email that an event triggered or joined, or why not. */
const Outcome = ({ appId, outcome }: { appId: string; outcome: EventOutcome }) => {
  const { message, delivery } = outcome
  const path = delivery ? deliveryPath(appId, delivery.id) : messagePath(appId, message.id)
  return (
    <>
      <span class="with-badge">
        <a href={path}>
          <SentText most={80}>{message.name}</SentText>
        </a>
        {delivery ? <DeliveryBadge delivery={delivery} /> : <Badge>No email</Badge>}
      </span>
      {delivery === null && (
        <span class="hint">
          <SentText most={400}>{outcome.why}</SentText>
        </span>
      )}
    </>
  )
}

const FactsSection = ({ person, now }: PersonProps) => (
  <section>
    <h2>About them</h2>
    <Values isCompact>
      <Fact name="Status">
        <StatusBadge status={person.status} />
      </Fact>
      <Value id="email" name="Email">
        {person.email}
      </Value>
      <Fact name="Tags">
        <Tags tags={person.tags ?? []} />
      </Fact>
      {person.source !== null && (
        <Fact name="Source">
          <SentText>{person.source}</SentText>
        </Fact>
      )}
      <Fact name="First seen">{person.firstSeenAt === null ? 'Never' : <ExactTime at={person.firstSeenAt} />}</Fact>
      <Fact name="Last seen">{person.lastSeenAt === null ? 'Never' : <Time at={person.lastSeenAt} now={now} />}</Fact>
      <Fact name="Added">
        <ExactTime at={person.createdAt} />
      </Fact>
      <Fact name="Changed">
        <Time at={person.updatedAt} now={now} />
      </Fact>
      <Value id="contact-id" name="Contact ID">
        {publicId('con', person.id)}
      </Value>
    </Values>
  </section>
)

/** The customer's own data. */
const FieldsSection = ({ person }: PersonProps) => {
  const fields = Object.entries(person.fields ?? {})
  if (fields.length === 0) return null
  return (
    <section>
      <h2>Fields</h2>
      <Values isCompact>
        {fields.map(([name, value]) => (
          <Fact key={name} name={<SentText>{name}</SentText>}>
            <SentText>{String(value)}</SentText>
          </Fact>
        ))}
      </Values>
    </section>
  )
}

/** For owners. Irreversible, so it asks for confirmation and the password. */
const EraseSection = ({ viewer, person }: PersonProps) =>
  hasRole(viewer.member.role, 'owner') ? (
    <section>
      <h2>Erase</h2>
      <p class="hint">Deletes this person and all their events. This cannot be undone.</p>
      <Dialog id="erase" opener="Erase this person" kind="danger" title={`Erase ${person.email}?`}>
        <p>
          This deletes the person and all their data: events, page views, tags and fields. Counts stay, because they
          identify nobody.
        </p>
        <ActionForm action={`${personPath(viewer.app.publicId, person.id)}/erase`} kind="danger">
          Erase {person.email}
        </ActionForm>
      </Dialog>
    </section>
  ) : null
