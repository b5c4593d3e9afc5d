/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import type { ListedDelivery } from '../../deliveries/delivery-lists.ts'
import type { EventRow } from '../../events/events.ts'
import type { Unstarted } from '../../deliveries/message-explanations.ts'
import { publicId } from '../../core/ids.ts'
import { toVisibleJson } from '../../core/visible-text.ts'
import { VIA_NAMES, KINDS, describeEventName, type Property, readProperties } from './event-labels.ts'
import { eventsPath } from './events-view.ts'
import { personPath } from './feed.tsx'
import { Frame } from '../layout/frame.tsx'
import { messagePath } from '../messages/messages-page.tsx'
import { Badge } from '../ui/badge.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { OneLine, SentText } from '../ui/text.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import { DeliveryLine } from '../people/person-mail.tsx'
import { StatusBadge, nameOfPerson } from '../people/person-labels.tsx'
import type { Viewer } from '../layout/viewer.ts'

/**
 * `mails`: emails the event triggered or joined. `unstarted`: matching messages that it didn't trigger, with the
 * reason.
 */
type EventProps = {
  viewer: Viewer
  row: EventRow
  person: ContactRow
  mails: ListedDelivery[]
  unstarted: Unstarted[]
  now: number
}

export const EventPage = (props: EventProps) => (
  <Frame
    viewer={props.viewer}
    page="events"
    title={describeEventName(props.row.name)}
    state={<State {...props} />}
    action={
      <ButtonLink href={eventsPath(props.viewer.app.publicId, { range: 'hours', name: props.row.name })}>
        All events with this name
      </ButtonLink>
    }
  >
    <div class="columns text-first">
      <div>
        <PropertiesSection {...props} />
        <MailSection {...props} />
        <FactsSection {...props} />
      </div>
      <aside aria-label="Person">
        <PersonSection {...props} />
      </aside>
    </div>
  </Frame>
)

const State = ({ viewer, row, now }: EventProps) => (
  <>
    {KINDS[row.type]} for{' '}
    <a href={personPath(viewer.app.publicId, row.contactId)}>
      <SentText>{row.email}</SentText>
    </a>
    , <Time at={row.occurredAt} now={now} />.
  </>
)

function PropertiesSection({ row }: EventProps) {
  const properties = readProperties(row)
  return (
    <section>
      <h2>{row.path === null ? 'Properties' : 'Page'}</h2>
      {row.path !== null && (
        <p class="sent-path">
          <code>
            <SentText>{row.path}</SentText>
          </code>
        </p>
      )}
      {row.path === null && properties.length === 0 && (
        <EmptyState title="No properties">This event was sent without properties.</EmptyState>
      )}
      {properties.length > 0 && (
        <>
          <PropertyList properties={properties} />
          <details>
            <summary>As JSON</summary>
            <CodeBlock id="json" label="Properties">
              {toVisibleJson(Object.fromEntries(properties.map(({ name, value }) => [name, value])))}
            </CodeBlock>
          </details>
        </>
      )}
    </section>
  )
}

const PropertyList = ({ properties }: { properties: Property[] }) => (
  <dl class="values properties">
    {properties.map(({ name, value }) => (
      <div key={name}>
        <dt>
          <SentText>{name}</SentText>
        </dt>
        <dd>
          <PropertyValue value={value} />
        </dd>
      </div>
    ))}
  </dl>
)

const PropertyValue = ({ value }: { value: unknown }) => {
  if (typeof value === 'string') return value === '' ? <span class="hint">empty</span> : <SentText>{value}</SentText>
  if (typeof value === 'object' && value !== null) return <code class="nested">{toVisibleJson(value)}</code>
  return <code>{JSON.stringify(value)}</code>
}

const MailSection = ({ viewer, row, person, mails, unstarted }: EventProps) => (
  <section id="mail">
    <h2>Emails</h2>
    {mails.length + unstarted.length === 0 ? (
      <p class="hint">
        {row.type === 'page' ? (
          'None. Opening this page triggers no live message.'
        ) : (
          <>
            None. This event triggered no message.{' '}
            <a href={`${personPath(viewer.app.publicId, person.id)}#mail`}>See why for each message</a>
          </>
        )}
      </p>
    ) : (
      <ul class="fact-list">
        {mails.map(({ work: { delivery, message }, explained }) => (
          <li key={delivery.id}>
            <DeliveryLine viewer={viewer} delivery={delivery} message={message} why={explained.why} />
          </li>
        ))}
        {unstarted.map(({ message, why }) => (
          <li key={message.id}>
            <p class="with-badge">
              <a href={messagePath(viewer.app.publicId, message.id)}>
                <OneLine>{message.name}</OneLine>
              </a>
              <Badge>No email</Badge>
            </p>
            <p class="hint">
              <SentText most={400}>{why}</SentText>
            </p>
          </li>
        ))}
      </ul>
    )}
  </section>
)

const FactsSection = ({ row }: EventProps) => (
  <section>
    <h2>Details</h2>
    <Values isCompact>
      <Value id="event-id" name="Event ID">
        {publicId('evt', row.id)}
      </Value>
      <Fact name="Type">{KINDS[row.type]}</Fact>
      <Fact name="Source">{VIA_NAMES[row.via]}</Fact>
      <Fact name="Happened">
        <ExactTime at={row.occurredAt} />
      </Fact>
      <Fact name="Received">
        <ExactTime at={row.receivedAt} />
      </Fact>
    </Values>
  </section>
)

const PersonSection = ({ viewer, person, now }: EventProps) => (
  <section>
    <h2>Person</h2>
    <Values isCompact>
      <Fact name="Email">
        <SentText>{person.email}</SentText>
      </Fact>
      {nameOfPerson(person) !== '' && (
        <Fact name="Name">
          <SentText>{nameOfPerson(person)}</SentText>
        </Fact>
      )}
      <Fact name="Status">
        <StatusBadge status={person.status} />
      </Fact>
      <Fact name="Added">
        <Time at={person.createdAt} now={now} />
      </Fact>
    </Values>
    <ButtonLink href={personPath(viewer.app.publicId, person.id)}>Show timeline</ButtonLink>
  </section>
)
