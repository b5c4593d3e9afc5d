/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { findProvider } from '../../accounts/mail-providers.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeCause, type Suppressed, type SuppressionReason } from '../../people/suppressions.ts'
import {
  ENDLESS,
  MOST_LISTED,
  type SuppressionSync,
  type SyncProgress,
  TOO_LONG,
  UNSAVED,
} from '../../people/suppression-sync.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices } from '../layout/mail-notices.tsx'
import type { MailState } from '../../monitoring/mail-state.ts'
import { formatCount, formatCounted } from '../../core/count.ts'
import type { Viewer } from '../layout/viewer.ts'
import { SOFT_BOUNCE_RULE } from './person-labels.tsx'
import { REASONS, WHAT_IT_DOES } from './suppression-forms.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Finder } from '../ui/finder.tsx'
import { FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Breakable, SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'

type SuppressionsProps = {
  viewer: Viewer
  mail: MailState
  /** null: all reasons */
  reason: SuppressionReason | null
  /** start of the addresses, or empty */
  search: string
  rows: Suppressed[]
  /** of those that match, up to `MOST_COUNTED` + 1 */
  count: number
  isFirst: boolean
  /** path of the next page */
  older: string | null
  exportPath: string
  nameMember: (actor: string) => string
  sync: SyncState
  /** error of the last action */
  notice?: string
  now: number
}

/** One table of all addresses; those of erased people are known by their hash only, which is not shown. */
export const SuppressionsPage = (props: SuppressionsProps) => {
  const { viewer, mail, count, notice } = props
  const isEmpty = count === 0 && !isNarrowed(props)
  return (
    <Frame
      viewer={viewer}
      page="deliveries"
      title="Suppressions"
      state={isEmpty ? 'No addresses yet.' : describeCount(props)}
      action={<Actions {...props} />}
    >
      <FormNotices notice={notice} />
      <MailNotices viewer={viewer} state={mail} />
      <DeliverySections viewer={viewer} current="suppressions" />
      <Sync {...props} />
      {isEmpty ? (
        <EmptyState title="No suppressions">
          {`People who unsubscribe or report spam, and addresses that bounce, appear here. ${SOFT_BOUNCE_RULE}`}
        </EmptyState>
      ) : (
        <SuppressionList {...props} />
      )}
    </Frame>
  )
}

const isNarrowed = ({ reason, search }: SuppressionsProps): boolean => reason !== null || search !== ''

function describeCount(props: SuppressionsProps): string {
  const { count } = props
  if (count === 0) return 'No addresses match.'
  const addresses = count === 1 ? '1 address' : `${formatCounted(count)} addresses`
  const match = isNarrowed(props) ? (count === 1 ? ' matches' : ' match') : ''
  return `${addresses}${match}${props.search === '' ? ', newest first' : ''}.`
}

/** Sync with the email provider's list. `list` null: there is none, or other accounts share it. */
export type SyncState = {
  list: { provider: string } | { provider: string; why: string } | null
  progress: SyncProgress | null
  last: (SuppressionSync & { at: number }) | null
}

export const SYNC = 'sync'

const nameOf = (provider: string): string => findProvider(provider)?.name ?? provider

/** The result of the last sync, or the progress of this one. */
const Sync = ({ viewer, sync: { list, progress, last }, now }: Pick<SuppressionsProps, 'viewer' | 'sync' | 'now'>) => {
  if (progress) {
    const count = progress.added + progress.known
    const read = count === 1 ? '1 address' : `${formatCount(count)} addresses`
    return (
      <div id={SYNC} role="status">
        <Notice kind="info">{`Reading the ${nameOf(progress.provider)} list: ${read} so far. Reload this page in a moment.`}</Notice>
      </div>
    )
  }
  if (list === null) {
    return (
      <p class="hint" id={SYNC}>
        To sync your provider's list, <a href={pathOf(viewer.app.publicId, 'sender/server')}>choose the provider</a>. Or
        add its export as a file.
      </p>
    )
  }
  if ('why' in list) {
    return (
      <p class="hint" id={SYNC}>
        {list.why}
      </p>
    )
  }
  if (last === null || list.provider !== last.provider) return null
  if (last.fault !== null) {
    return (
      <div id={SYNC}>
        <Notice kind="caution">
          {`${describeFault(last.fault, nameOf(last.provider))} ${describeSynced(last)} Last attempt: `}
          <Time at={last.at} now={now} />.
        </Notice>
      </div>
    )
  }
  return (
    <p class="hint" id={SYNC}>
      {`The ${nameOf(last.provider)} list was read `}
      <Time at={last.at} now={now} />
      {`. ${describeSynced(last)}`}
    </p>
  )
}

/** "12 addresses were added, and 340 were already listed." */
function describeSynced({ added, known, unread }: SuppressionSync): string {
  const [one, many] = [
    `${formatCount(added)} ${added === 1 ? 'address was' : 'addresses were'} added`,
    formatCount(known),
  ]
  const skipped = unread === 0 ? '' : ` ${formatCount(unread)} could not be read.`
  return `${one}, and ${many} ${known === 1 ? 'was' : 'were'} already listed.${skipped}`
}

function describeFault(fault: string, name: string): string {
  const [, status] = /^http_(\d+)$/.exec(fault) ?? []
  if (status === '401' || status === '403' || status === '404')
    return `${name} refused to show its suppression list (it replied ${status}): the key isn't allowed to read it.`
  if (status === '429') return `${name} asked Eventpost to read more slowly. Try again in a few minutes.`
  if (status !== undefined)
    return `${name} could not show its suppression list (it replied ${status}). Try again later.`
  if (fault === TOO_LONG)
    return `The ${name} list has more than ${formatCount(MOST_LISTED)} entries. Export it there, then add it as a file.`
  if (fault === ENDLESS)
    return `The ${name} list could not be read completely. Try again later, or export it there and add it as a file.`
  if (fault === UNSAVED) return 'The addresses could not be saved. Try again.'
  return fault === 'unreachable' ? `${name} could not be reached.` : `The response from ${name} could not be read.`
}

const SyncButton = ({ viewer, sync: { list, progress } }: Pick<SuppressionsProps, 'viewer' | 'sync'>) =>
  list === null || 'why' in list || progress ? null : (
    <ActionForm action={`${pathOf(viewer.app.publicId, 'suppressions')}/sync`}>
      {`Sync with ${nameOf(list.provider)}`}
    </ActionForm>
  )

const Actions = ({ viewer, count, exportPath, sync }: SuppressionsProps) => {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  const mayEdit = hasRole(viewer.member.role, 'editor')
  return (
    <div class="buttons">
      {mayEdit && <SyncButton viewer={viewer} sync={sync} />}
      {count > 0 && <ButtonLink href={exportPath}>Export</ButtonLink>}
      {mayEdit && (
        <ButtonLink kind="primary" href={`${path}/new`}>
          Add addresses
        </ButtonLink>
      )}
    </div>
  )
}

function SuppressionList(props: SuppressionsProps) {
  const { viewer, rows, search, count, isFirst, older, now } = props
  const path = pathOf(viewer.app.publicId, 'suppressions')
  return (
    <>
      <div class="list-tools">
        <Finder action={path} method="post" name="email" label="Find by email" placeholder="Email" value={search} />
        {search === '' && <ReasonLinks {...props} path={path} />}
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
      {search !== '' && rows.length > 0 && (
        <p class="hint after-table">
          {count > rows.length && 'More addresses start with this. Enter more characters. '}
          <a href={path}>Show all</a>
        </p>
      )}
      {search === '' && <p class="hint after-table">{`${WHAT_IT_DOES} ${SOFT_BOUNCE_RULE}`}</p>}
      {search === '' && <Pager newest={isFirst ? undefined : path} older={older ?? undefined} />}
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
  if (search !== '') {
    return (
      <EmptyState title="Not on the list" next={<ButtonLink href={path}>Show all</ButtonLink>}>
        No address starts with{' '}
        <SentText most={254} end=".">
          {search}
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

function columnsOf({ viewer, search, nameMember }: SuppressionsProps, now: number): Column<Suppressed>[] {
  const path = pathOf(viewer.app.publicId, 'suppressions')
  const columns: Column<Suppressed>[] = [
    { name: 'Address', cell: (row) => <Address viewer={viewer} row={row} /> },
    {
      name: 'Reason',
      isUnlabelled: true,
      cell: ({ reason, cause }) => (
        <>
          <Badge mood={reason === 'unsubscribed' ? 'quiet' : 'bad'}>{REASONS[reason]}</Badge>{' '}
          {cause && (
            <span class="cause">
              <SentText most={160}>{describeCause(cause, nameMember)}</SentText>
            </span>
          )}
        </>
      ),
    },
    { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
  ]
  if (!hasRole(viewer.member.role, 'editor')) return columns
  const remove = ({ email }: Suppressed): ComponentChildren => {
    // an erased person is found by the whole address only
    const address = email ?? search
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
  return (
    <span class="address">
      {contactId === null ? (
        <Breakable>{email}</Breakable>
      ) : (
        <a class="strong" href={personPath(viewer.app.publicId, contactId)}>
          <Breakable>{email}</Breakable>
        </a>
      )}
    </span>
  )
}
