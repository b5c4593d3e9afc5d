/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import { describeCause, type Suppressed } from '../../people/suppressions.ts'
import type { MessageExplanation } from '../../deliveries/delivery-lists.ts'
import { hasRole } from '../../accounts/members.ts'
import { publicId } from '../../core/ids.ts'
import { personPath } from '../events/feed.tsx'
import { Frame } from '../layout/frame.tsx'
import { ActionForm, Button, ButtonLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import type { Consent } from '../../people/consent.ts'
import { ConsentSection } from './person-consent.tsx'
import { type PersonEmails, PersonMail } from './person-mail.tsx'
import { PersonTimeline, type TimelineProps } from './person-timeline.tsx'
import { describeSoftBounces, nameOfPerson, StatusBadge, StatusNote } from './person-labels.tsx'
import type { ChosenTopic } from '../../people/topics.ts'
import { Tags } from './tags.tsx'
import { TopicFields } from './topic-fields.tsx'
import type { Viewer } from '../layout/viewer.ts'

type PersonProps = {
  viewer: Viewer
  person: ContactRow
  /** first page only, like its emails */
  messages: MessageExplanation[]
  consents: Consent[]
  isOptInOn: boolean
  topics: ChosenTopic[]
  /** the address on the list of suppressions */
  suppressed: Suppressed | null
  /** recent ones */
  softBounces: number
  /** error of the last action */
  notice?: string
} & PersonEmails &
  Omit<TimelineProps, 'path' | 'explained'>

export const PersonPage = (props: PersonProps) => (
  <Frame
    viewer={props.viewer}
    page="people"
    title={props.person.email}
    state={<State {...props} />}
    action={<Actions {...props} />}
  >
    {props.notice && <Notice kind="error">{props.notice}</Notice>}
    <div class="columns text-first">
      <div>
        {props.isFirst && <PersonMail {...props} />}
        <PersonTimeline
          {...props}
          path={personPath(props.viewer.app.publicId, props.person.id)}
          explained={new Set(props.emails.map(({ work }) => work.delivery.id))}
        />
      </div>
      <aside aria-label="Details">
        <FactsSection {...props} />
        <ConsentSection {...props} />
        <TopicsSection {...props} />
        <FieldsSection {...props} />
        <EraseSection {...props} />
      </aside>
    </div>
  </Frame>
)

const Actions = ({ viewer, person }: PersonProps) => {
  const path = personPath(viewer.app.publicId, person.id)
  return (
    <>
      <ButtonLink href={`${path}/export`}>Export</ButtonLink>
      {hasRole(viewer.member.role, 'editor') && <ButtonLink href={`${path}/edit`}>Edit</ButtonLink>}
    </>
  )
}

function State({ person, now }: PersonProps) {
  const name = nameOfPerson(person)
  const latest = Math.max(person.lastSeenAt ?? 0, person.lastEventAt ?? 0)
  return (
    <>
      {name !== '' && (
        <>
          <SentText most={120} end=".">
            {name}
          </SentText>{' '}
        </>
      )}
      {latest === 0 ? (
        'No events or page views yet.'
      ) : (
        <>
          {latest === person.lastSeenAt ? 'Last page view' : 'Last event'} <Time at={latest} now={now} />.
        </>
      )}
    </>
  )
}

const FactsSection = (props: PersonProps) => (
  <section>
    <h2>Details</h2>
    <Values isCompact>
      <Fact name="Status">
        <Status {...props} />
      </Fact>
      <PersonFacts {...props} />
    </Values>
  </section>
)

/** Editors can change them, such as on a person's request. */
const TopicsSection = ({ viewer, person, topics }: PersonProps) => {
  if (topics.length === 0) return null
  const isLocked = !hasRole(viewer.member.role, 'editor')
  return (
    <section id="topics">
      <h2>Topics</h2>
      <form method="post" action={`${personPath(viewer.app.publicId, person.id)}/topics`}>
        <TopicFields topics={topics} isLocked={() => isLocked} />
        {!isLocked && <Button>Save topics</Button>}
      </form>
    </section>
  )
}
/** With its reason, or how far soft bounces are from suppressing the address. */
const Status = ({ person: { status }, suppressed, softBounces, nameMember }: PersonProps) => (
  <>
    <StatusBadge status={status} />
    {suppressed?.cause && (
      <p class="hint">
        <SentText most={300}>{`${describeCause(suppressed.cause, nameMember)}.`}</SentText>
      </p>
    )}
    <StatusNote status={status} />
    {suppressed?.reason !== 'bounced' && softBounces > 0 && <p class="hint">{describeSoftBounces(softBounces)}</p>}
  </>
)

const PersonFacts = ({ person, now }: PersonProps) => (
  <>
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
    <Fact name="First page view">{person.firstSeenAt === null ? 'Never' : <ExactTime at={person.firstSeenAt} />}</Fact>
    <Fact name="Last page view">
      {person.lastSeenAt === null ? 'Never' : <Time at={person.lastSeenAt} now={now} />}
    </Fact>
    <Fact name="Added">
      <ExactTime at={person.createdAt} />
    </Fact>
    <Fact name="Updated">
      <Time at={person.updatedAt} now={now} />
    </Fact>
    <Value id="contact-id" name="Contact ID">
      {publicId('con', person.id)}
    </Value>
  </>
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
      <p class="hint">Deletes this person and their data. This can't be undone.</p>
      <Dialog id="erase" opener="Erase this person" kind="danger" title={`Erase ${person.email}?`}>
        <p>
          This deletes the person and their data: events, page views, emails, tags and fields. Event counts stay. If the
          address is suppressed or unsubscribed from a topic, a hash of it stays. People counts and message results no
          longer include this person.
        </p>
        <ActionForm action={`${personPath(viewer.app.publicId, person.id)}/erase`} kind="danger">
          Erase {person.email}
        </ActionForm>
      </Dialog>
    </section>
  ) : null
