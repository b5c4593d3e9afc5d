/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { hasRole } from '../../accounts/members.ts'
import type { Suppressed, SuppressionReason } from '../../people/suppressions.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices, type MailState } from '../layout/mail-notices.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { REASONS, WHAT_IT_DOES } from './suppression-forms.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Finder } from '../ui/finder.tsx'
import { FormNotices } from '../ui/form.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'

type SuppressionsProps = {
  viewer: Viewer
  mail: MailState
  /** null: all reasons */
  reason: SuppressionReason | null
  rows: Suppressed[]
  /** null without a search; `hasMore`: more addresses begin like this */
  search: { text: string; hasMore: boolean } | null
  /** text, because it may be "10,000+" */
  count: string
  isFirst: boolean
  /** path of the next page */
  older: string | null
  /** error of the last action */
  notice?: string
  now: number
}

/** One table of all addresses; those of erased people are known by their hash only, which is not shown. */
export const SuppressionsPage = (props: SuppressionsProps) => {
  const { viewer, mail, count, notice } = props
  return (
    <Frame
      viewer={viewer}
      page="deliveries"
      title="Suppressions"
      state={describeCount(count)}
      action={<Actions viewer={viewer} isEmpty={count === '0'} />}
    >
      <FormNotices notice={notice} />
      <MailNotices viewer={viewer} state={mail} />
      <DeliverySections viewer={viewer} current="suppressions" />
      {count === '0' ? (
        <EmptyState title="No suppressions">
          People who unsubscribe or report spam, and addresses that bounce, appear here.
        </EmptyState>
      ) : (
        <SuppressionList {...props} />
      )}
    </Frame>
  )
}

function describeCount(count: string): string {
  if (count === '0') return 'No addresses yet.'
  const addresses = count === '1' ? '1 address' : `${count} addresses`
  return `${addresses}. ${WHAT_IT_DOES}`
}

const Actions = ({ viewer, isEmpty }: { viewer: Viewer; isEmpty: boolean }) => {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <div class="buttons">
      {!isEmpty && <ButtonLink href={`${path}/export`}>Export</ButtonLink>}
      {hasRole(viewer.member.role, 'editor') && (
        <ButtonLink kind="primary" href={`${path}/new`}>
          Add addresses
        </ButtonLink>
      )}
    </div>
  )
}

function SuppressionList(props: SuppressionsProps) {
  const { viewer, rows, search, isFirst, older, now } = props
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <>
      <div class="list-tools">
        <Finder
          action={path}
          method="post"
          name="email"
          label="Find by email"
          placeholder="Email"
          value={search?.text ?? ''}
        />
        {search === null && <ReasonLinks {...props} path={path} />}
      </div>
      {rows.length === 0 ? (
        <NoRows {...props} path={path} />
      ) : (
        <Table
          label="Suppressed addresses, newest first"
          hasSideAction
          columns={columnsOf(props, now)}
          rows={rows}
          idOf={({ emailHash }) => emailHash}
        />
      )}
      {search !== null && rows.length > 0 && (
        <p class="hint after-table">
          {search.hasMore && 'More addresses start with this. Enter more characters. '}
          <a href={path}>Show all</a>
        </p>
      )}
      {search === null && <Pager newest={isFirst ? undefined : path} older={older ?? undefined} />}
    </>
  )
}

const ReasonLinks = ({ path, reason }: { path: string; reason: SuppressionReason | null }) => (
  <nav class="ranges filter-links" aria-label="Reason">
    <a href={path} aria-current={reason === null ? 'true' : undefined}>
      All
    </a>
    {Object.entries(REASONS).map(([name, label]) => (
      <a key={name} href={`${path}?reason=${name}`} aria-current={name === reason ? 'true' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)

const NoRows = ({ search, path, reason, isFirst }: SuppressionsProps & { path: string }) => {
  if (search !== null) {
    return (
      <EmptyState title="Not on the list" next={<ButtonLink href={path}>Show all</ButtonLink>}>
        No address starts with{' '}
        <SentText most={254} end=".">
          {search.text.trim()}
        </SentText>{' '}
        To find an erased person, enter the complete address.
      </EmptyState>
    )
  }
  if (!isFirst) return <EmptyState title="Nothing older">You've reached the oldest address.</EmptyState>
  return (
    <EmptyState title="No addresses">
      {reason === null ? 'The list is empty.' : `No address is listed as ${REASONS[reason].toLowerCase()}.`}
    </EmptyState>
  )
}

function columnsOf({ viewer, search }: SuppressionsProps, now: number): Column<Suppressed>[] {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  const columns: Column<Suppressed>[] = [
    { name: 'Address', cell: (row) => <Address viewer={viewer} row={row} /> },
    {
      name: 'Reason',
      isUnlabelled: true,
      cell: ({ reason }) => <Badge mood={reason === 'unsubscribed' ? 'quiet' : 'bad'}>{REASONS[reason]}</Badge>,
    },
    { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
  ]
  if (!hasRole(viewer.member.role, 'editor')) return columns
  const remove = ({ email }: Suppressed): ComponentChildren => {
    // an erased person is found by the whole address only
    const address = email ?? search?.text.trim()
    return (
      address && (
        <ActionForm action={`${path}/remove`} fields={{ email: address }}>
          Remove <span class="unseen">{address}</span>
        </ActionForm>
      )
    )
  }
  return [...columns, { name: 'Remove', cell: remove, isAction: true }]
}

const Address = ({ viewer, row: { email, contactId } }: { viewer: Viewer; row: Suppressed }) => {
  if (email === null) return <span class="hint">Erased person</span>
  if (contactId === null) return <SentText>{email}</SentText>
  return (
    <a class="strong" href={personPath(viewer.app.publicId, contactId)}>
      <SentText>{email}</SentText>
    </a>
  )
}
