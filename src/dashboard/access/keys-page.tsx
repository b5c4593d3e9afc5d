/** @jsxImportSource preact */
import { Fragment } from 'preact'
import type { KeyRow } from '../../accounts/accounts.ts'
import type { Noted } from '../../events/activation.ts'
import type { CallRow } from '../../accounts/call-log.ts'
import type { SecretRow } from '../../accounts/identity.ts'
import { hasRole } from '../../accounts/members.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { CallsSection } from '../activation/calls-section.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Notice } from '../ui/notice.tsx'
import { None } from '../people/tags.tsx'
import type { Page } from '../layout/paging.ts'
import { SCOPES } from './key-pages.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { SecretSection } from '../activation/secret-section.tsx'
import type { Viewer } from '../layout/viewer.ts'

type KeysProps = {
  viewer: Viewer
  keys: KeyRow[]
  /** this page's rows, active keys first */
  shown: Page<KeyRow>
  secrets: SecretRow[]
  /** signatures made with a previous secret since the last rotation */
  oldSecretUse: Noted | null
  calls: CallRow[]
  now: number
  refusal?: RefusalCode
}

export function KeysPage({ viewer, keys, shown, secrets, oldSecretUse, calls, now, refusal }: KeysProps) {
  const isOwner = hasRole(viewer.member.role, 'owner')
  const newKey = `${pathOf(viewer.app.publicId, 'keys')}/new`
  const make = (
    <ButtonLink kind="primary" href={newKey}>
      Create a key
    </ButtonLink>
  )
  return (
    <Frame
      viewer={viewer}
      page="keys"
      title="API keys"
      state={stateOf(keys)}
      action={isOwner && keys.length > 0 && make}
    >
      {refusal && <Notice kind="error">{REFUSALS[refusal].message}</Notice>}
      {!isOwner && <Notice kind="info">Only owners of the account can create and revoke keys.</Notice>}
      {keys.filter(isExposed).map((key) => (
        <ExposedNotice key={key.id} exposed={key} />
      ))}
      {keys.length === 0 ? (
        <EmptyState title="No keys yet" next={isOwner && make}>
          Your server sends events with an API key. Create one to start.
        </EmptyState>
      ) : (
        <>
          <Table
            label="API keys"
            hasSideAction
            columns={columnsOf(viewer, isOwner, now)}
            rows={shown.rows}
            idOf={({ id }) => id}
          />
          <ScopesHint rows={shown.rows} />
          <Pager {...shown} />
        </>
      )}
      <SecretSection {...{ viewer, secrets, oldSecretUse, isOwner, now }} />
      <CallsSection calls={calls} keys={keys} now={now} />
    </Frame>
  )
}

function stateOf(keys: KeyRow[]): string {
  const working = keys.filter(({ revokedAt }) => revokedAt === null).length
  if (working === 0) return "No active keys, so your server can't send events."
  return working === 1 ? '1 active key.' : `${working} active keys.`
}

const isExposed = ({ revokedAt, seenInBrowserAt }: KeyRow): boolean => revokedAt === null && seenInBrowserAt !== null

const ExposedNotice = ({ exposed: { name, seenInBrowserAt } }: { exposed: KeyRow }) => (
  <Notice kind="caution">
    The key “{name}” was sent by a browser, last on <ExactTime at={seenInBrowserAt ?? 0} />. Anyone who opens the page
    that sent it can read it. Create a new key for your server, then revoke this one.
  </Notice>
)

const nameOfScope = (scope: KeyRow['scope']): string => SCOPES.find(({ value }) => value === scope)?.label ?? scope

/** Explains the scopes of the keys on the page. */
const ScopesHint = ({ rows }: { rows: KeyRow[] }) => (
  <p class="hint after-table">
    {SCOPES.filter(({ value }) => rows.some(({ scope }) => scope === value)).map(({ value, label, hint }) => (
      <Fragment key={value}>
        <b>{label}</b>: {hint}{' '}
      </Fragment>
    ))}
  </p>
)

const columnsOf = (viewer: Viewer, isOwner: boolean, now: number): Column<KeyRow>[] => [
  { name: 'Name', cell: (key) => <KeyName {...key} /> },
  { name: 'Ends in', cell: ({ ending }) => (ending === null ? <None /> : <code>{ending}</code>) },
  { name: 'Scope', cell: ({ scope }) => nameOfScope(scope) },
  { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
  { name: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time at={lastUsedAt} now={now} />) },
  {
    name: 'State',
    isUnlabelled: true,
    cell: ({ revokedAt }) =>
      revokedAt === null ? (
        <Badge mood="good">Active</Badge>
      ) : (
        <>
          <Badge mood="bad">Revoked</Badge>{' '}
          <span class="hint">
            <Time at={revokedAt} now={now} />
          </span>
        </>
      ),
  },
  ...(isOwner
    ? [{ name: 'Revoke it', isAction: true, cell: (key: KeyRow) => <RevokeDialog viewer={viewer} row={key} /> }]
    : []),
]

const KeyName = (key: KeyRow) => (
  <span class="with-badge">
    {key.name} {isExposed(key) && <Badge mood="caution">Seen in a browser</Badge>}
  </span>
)

const RevokeDialog = ({ viewer, row: { id, name, ending, revokedAt } }: { viewer: Viewer; row: KeyRow }) =>
  revokedAt === null && (
    <Dialog id={`revoke-${id}`} opener="Revoke" about={name} kind="danger" title={`Revoke “${name}”?`}>
      <p>
        {ending !== null && (
          <>
            The key ends in <code>{ending}</code>.{' '}
          </>
        )}
        Requests with this key are refused right away. This can't be undone.
      </p>
      <ActionForm action={`${pathOf(viewer.app.publicId, 'keys')}/revoke`} fields={{ key: id }} kind="danger">
        Revoke the key
      </ActionForm>
    </Dialog>
  )
