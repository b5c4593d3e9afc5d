/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { nameOfPerson, StatusBadge } from './person-labels.tsx'
import { None, Tags } from './tags.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** The search and why it failed. */
export type Search = { email: string; errors?: FormError[] }

type PeopleProps = {
  viewer: Viewer
  people: ContactRow[]
  search: Search
  isFirst: boolean
  /** cursor of the next page */
  older: string | null
  now: number
}

export const PeoplePage = (props: PeopleProps) => (
  <Frame
    viewer={props.viewer}
    page="people"
    title="People"
    state="People from your server and your pages, newest first."
  >
    {props.people.length === 0 && props.isFirst ? <Nobody {...props} /> : <PeopleList {...props} />}
  </Frame>
)

function PeopleList({ viewer, people, search, isFirst, older, now }: PeopleProps) {
  const path = pathOf(viewer.app.publicId, 'people')
  return (
    <>
      <Form isSearch action={path} errors={search.errors} submit="Find" kind="plain">
        <Field name="email" label="Find by email" kind="email" value={search.email} autocomplete="off" />
      </Form>
      {people.length === 0 ? (
        <EmptyState title="Nobody else">These were the first people of this app.</EmptyState>
      ) : (
        <Table
          label="People, the newest first"
          columns={columnsOf(viewer, now)}
          rows={people}
          idOf={({ id }) => String(id)}
        />
      )}
      <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
    </>
  )
}

const columnsOf = (viewer: Viewer, now: number): Column<ContactRow>[] => [
  {
    name: 'Person',
    cell: (person) => (
      <a class="person" href={personPath(viewer.app.publicId, person.id)}>
        <b>
          <SentText>{person.email}</SentText>
        </b>
        {nameOfPerson(person) !== '' && (
          <span class="hint">
            <SentText most={80}>{nameOfPerson(person)}</SentText>
          </span>
        )}
      </a>
    ),
  },
  { name: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { name: 'Tags', cell: ({ tags }) => <Tags tags={tags ?? []} most={3} /> },
  {
    name: 'Last seen',
    cell: ({ lastSeenAt }) => (lastSeenAt === null ? <None /> : <Time at={lastSeenAt} now={now} />),
  },
  {
    name: 'Last event',
    cell: ({ lastEventAt }) => (lastEventAt === null ? <None /> : <Time at={lastEventAt} now={now} />),
  },
  { name: 'Added', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
]

const Nobody = ({ viewer }: PeopleProps) => (
  <EmptyState
    title="Nobody yet"
    next={
      <ButtonLink kind="primary" href={pathOf(viewer.app.publicId, 'activation')}>
        Send the first event
      </ButtonLink>
    }
  >
    A person is added with the first event about them that says so, or by your server. None has come yet.
  </EmptyState>
)
