/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  AUDIT_KINDS,
  type AuditEntry,
  type AuditKind,
  describeActor,
  writeActorFirst,
  isAuditKind,
  listAudit,
  readAuditCursor,
} from '../../accounts/audit.ts'
import type { AppRow } from '../../accounts/access.ts'
import { hasRole } from '../../accounts/members.ts'
import { readPublicId } from '../../core/ids.ts'
import { formatZone } from '../../core/format-time.ts'
import { pageAnswer } from '../layout/answers.ts'
import { readPersonSubject, readSuppressedSubject } from '../../store/audit.ts'
import { type AuditNames, describeAction } from './audit-labels.ts'
import { refuseRole, showPage } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { MemberSections } from './members-page.tsx'
import { None } from '../people/tags.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Moment } from '../ui/time.tsx'

const PAGE_ROWS = 33

export const auditRoutes = (deps: PageDependencies) =>
  new Elysia().get('/apps/:app/audit', ({ request, params: { app } }) =>
    showPage(deps, request, app, (viewer) =>
      hasRole(viewer.member.role, 'owner') ? showAudit(deps, request, viewer) : refuseRole(deps, request, viewer),
    ),
  )

async function showAudit(
  { store, signInNotes }: Pick<PageDependencies, 'store' | 'signInNotes'>,
  request: Request,
  viewer: Viewer,
): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const asked = searchParams.get('kind') ?? ''
  const kind = isAuditKind(asked) ? asked : 'all'
  const before = readAuditCursor(searchParams.get('before') ?? '')
  await signInNotes.save({ all: true })
  const { id } = viewer.account
  const { entries, older } = await listAudit(store, id, { kind, before, limit: PAGE_ROWS })
  const [members, keys, apps] = await Promise.all([store.listMembers(id), store.listKeys(id), store.listApps(id)])
  const messages = (await Promise.all(apps.map((app) => store.listMessages(app.id)))).flat()
  const names = { members, keys, apps, messages, ...(await namePeople(store, apps, messages, entries)) }
  const page = { viewer, kind, entries, older, isFirst: before === null, names }
  return pageAnswer(request, 200, <AuditPage {...page} />)
}

/** Deliveries and people of the account only; not of people who were erased. */
async function namePeople(
  store: PageDependencies['store'],
  apps: readonly Pick<AppRow, 'id'>[],
  messages: readonly { id: number; name: string }[],
  entries: readonly AuditEntry[],
): Promise<Pick<AuditNames, 'deliveries' | 'people'>> {
  const subjectOf = (one: AuditEntry): string =>
    (readSuppressedSubject(one) ?? readPersonSubject(one))?.contactId ?? one.subject ?? ''
  const idsOf = (kind: 'dlv' | 'con') => entries.flatMap((one) => readPublicId(kind, subjectOf(one)) ?? [])
  const found = await store.listDeliveriesById([...new Set(idsOf('dlv'))])
  const contacts = await store.listContactsById([
    ...new Set([...idsOf('con'), ...found.map(({ contactId }) => contactId)]),
  ])
  const own = contacts.filter(({ appId }) => apps.some(({ id }) => id === appId))
  const people = new Map(own.map(({ id, email }) => [id, email]))
  const deliveries = new Map(
    found.flatMap(({ id, messageId, contactId }) => {
      const email = people.get(contactId)
      const message = messages.find((one) => one.id === messageId)?.name
      return email !== undefined && message !== undefined ? [[id, { message, email }] as const] : []
    }),
  )
  return { deliveries, people }
}

type AuditProps = {
  viewer: Viewer
  kind: AuditKind
  entries: AuditEntry[]
  /** cursor of the next page */
  older: string | null
  isFirst: boolean
  names: AuditNames
}

const KIND_NAMES: Record<AuditKind, string> = {
  all: 'Everything',
  sign_ins: 'Sign-ins',
  people: 'People',
  changes: 'Other actions',
}

const AuditPage = (props: AuditProps) => {
  const { viewer, kind, entries, older, isFirst } = props
  const path = pathOf(viewer.app.publicId, 'audit')
  const pathWith = (more: Record<string, string>): string => `${path}?${new URLSearchParams({ kind, ...more })}`
  return (
    <Frame
      viewer={viewer}
      page="members"
      title="Audit log"
      state={`Changes, exports and sign-ins in the account ${viewer.account.name}. Sign-ins are kept for 400 days.`}
    >
      <MemberSections viewer={viewer} current="audit" />
      <nav class="ranges filter-links" aria-label="Entries">
        {AUDIT_KINDS.map((value) => (
          <a key={value} href={`${path}?kind=${value}`} aria-current={value === kind ? 'true' : undefined}>
            {KIND_NAMES[value]}
          </a>
        ))}
      </nav>
      {entries.length === 0 && <p class="hint">{isFirst ? 'Nothing yet.' : 'Nothing older.'}</p>}
      {entries.length > 0 && (
        <div class="audit">
          <Table label="Audit log" columns={columnsOf(props)} rows={entries} idOf={({ id }) => id} />
        </div>
      )}
      <p class="hint after-table">
        Times are in {formatZone(viewer.app.timezone)}. Equal hashes mean the same IP address, or for IPv6 the same /64
        network. The server's log uses the same hashes.
      </p>
      <Pager
        newest={isFirst ? undefined : pathWith({})}
        older={older === null ? undefined : pathWith({ before: older })}
      />
    </Frame>
  )
}

const columnsOf = ({ names }: AuditProps): Column<AuditEntry>[] => [
  { name: 'When', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  {
    name: 'Who',
    isUnlabelled: true,
    cell: (entry) => <SentText most={254}>{writeActorFirst(describeActor(entry, names))}</SentText>,
  },
  { name: 'What', isUnlabelled: true, cell: (entry) => <SentText most={400}>{describeAction(entry, names)}</SentText> },
  {
    name: 'IP (hashed)',
    cell: ({ address }) => (address === null ? <None /> : address === 'several' ? address : <code>{address}</code>),
  },
]
