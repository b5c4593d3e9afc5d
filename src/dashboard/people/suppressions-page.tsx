/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import { hasRole } from '../../accounts/members.ts'
import type { Suppressed, SuppressionReason } from '../../people/suppressions.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices, type MailState } from '../layout/mail-notices.tsx'
import { Badge } from '../ui/badge.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { StatusBadge } from './person-labels.tsx'
import { AddForm, type ListForm, RemoveForm } from './suppression-forms.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** The last lookup and its result. */
export type Asked = {
  search?: { email: string; found?: SuppressionReason | null; errors?: FormError[] }
  adding?: ListForm
  removing?: ListForm
  /** error of the last action */
  notice?: string
}

/** `older` is the cursor of the next page. */
type Listed<Row> = { rows: Row[]; isFirst: boolean; older: string | null }

type SuppressionsProps = {
  viewer: Viewer
  mail: MailState
  asked: Asked
  list: Listed<Suppressed>
  people: Listed<ContactRow>
  now: number
}

/** Suppressed addresses stay on the list forever. */
export const SuppressionsPage = (props: SuppressionsProps) => (
  <Frame
    viewer={props.viewer}
    page="deliveries"
    title="Suppressions"
    state="Addresses that get no email, even after the person was erased."
  >
    <FormNotices notice={props.asked.notice} />
    <MailNotices viewer={props.viewer} state={props.mail} />
    <DeliverySections viewer={props.viewer} current="suppressions" />
    <div class="columns text-first">
      <div>
        <SearchSection {...props} />
        <ListSection {...props} />
        <PeopleSection {...props} />
      </div>
      {hasRole(props.viewer.member.role, 'editor') && (
        <aside aria-label="Change the list">
          <AddForm viewer={props.viewer} form={props.asked.adding} />
          <RemoveForm viewer={props.viewer} form={props.asked.removing} />
        </aside>
      )}
    </div>
  </Frame>
)

const FOUND: Record<SuppressionReason, string> = {
  unsubscribed: 'On the list: the person unsubscribed. They get only transactional emails.',
  bounced: 'On the list: an email bounced. It gets no email.',
  complained: 'On the list: the person complained. It gets no email.',
}

const SearchSection = ({ viewer, asked: { search } }: SuppressionsProps) => (
  <section>
    <h2>Look up an address</h2>
    <Form
      isSearch
      action={pathOf(viewer.app.publicId, 'suppressions')}
      errors={search?.errors}
      submit="Look up"
      kind="plain"
    >
      <Field name="email" label="Email" kind="email" value={search?.email ?? ''} autocomplete="off" />
    </Form>
    {search?.found !== undefined && (
      <Notice kind="info">
        <b>
          <SentText most={254}>{search.email.trim()}</SentText>
        </b>
        : {search.found === null ? 'It is not on the list.' : FOUND[search.found]}
      </Notice>
    )}
  </section>
)

const REASONS: Record<SuppressionReason, string> = {
  unsubscribed: 'Unsubscribed',
  bounced: 'Bounced',
  complained: 'Complained',
}

const listColumns = (now: number): Column<Suppressed>[] => [
  { name: 'Address, as a hash', cell: ({ emailHash }) => <code>{emailHash.slice(0, 16)}…</code> },
  {
    name: 'Why',
    cell: ({ reason }) => <Badge mood={reason === 'unsubscribed' ? 'quiet' : 'bad'}>{REASONS[reason]}</Badge>,
  },
  { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
]

function ListSection({ viewer, list, people, now }: SuppressionsProps) {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  const { rows, isFirst, older } = list
  return (
    <section>
      <h2>The list</h2>
      <p class="hint">
        The list stores keyed hashes instead of addresses, so that it can outlive an erased person. Look up an address
        above.
      </p>
      {rows.length === 0 ? (
        <EmptyState title={isFirst ? 'Nobody' : 'Nothing older'}>
          {isFirst
            ? 'People who unsubscribe and addresses that bounce are added here.'
            : 'These were the first addresses on the list.'}
        </EmptyState>
      ) : (
        <Table
          label="Suppressed addresses, the newest first"
          columns={listColumns(now)}
          rows={rows}
          idOf={({ emailHash }) => emailHash}
        />
      )}
      {!(isFirst && older === null) && people.isFirst && (
        <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
      )}
    </section>
  )
}

const peopleColumns = (appId: string, now: number): Column<ContactRow>[] => [
  {
    name: 'Person',
    cell: ({ id, email }) => (
      <a href={personPath(appId, id)}>
        <SentText>{email}</SentText>
      </a>
    ),
  },
  { name: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} now={now} /> },
]

function PeopleSection({ viewer, people: { rows, isFirst, older }, now }: SuppressionsProps) {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <section id="people">
      <h2>People who get no email</h2>
      {rows.length === 0 ? (
        <p class="hint">
          {older === null ? 'Nobody whom this app knows.' : 'None among those. Go on to older people.'}
        </p>
      ) : (
        <Table
          label="People who get no email, the newest first"
          columns={peopleColumns(viewer.app.publicId, now)}
          rows={rows}
          idOf={({ id }) => String(id)}
        />
      )}
      {!(isFirst && older === null) && (
        <Pager
          newest={isFirst ? undefined : `${path}#people`}
          older={older === null ? undefined : `${path}?people=${older}#people`}
        />
      )}
    </section>
  )
}
