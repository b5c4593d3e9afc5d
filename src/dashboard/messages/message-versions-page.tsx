/** @jsxImportSource preact */
import { diffVersions, type LineChange } from '../../messages/message-versions.ts'
import type { MessageContent, MessageRow } from '../../messages/messages.ts'
import { Frame } from '../layout/frame.tsx'
import { messagePath } from './messages-page.tsx'
import { creditActor } from '../../accounts/audit.ts'
import { hasRole } from '../../accounts/members.ts'
import { upperFirst } from '../../core/text.ts'
import { MessageBadge } from './message-status.tsx'
import { MessageTabs } from './message-tabs.tsx'
import type { ShownVersion } from './version-writers.ts'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Diff } from '../ui/diff.tsx'
import { SentText } from '../ui/text.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

type VersionsProps = {
  viewer: Viewer
  message: MessageRow
  versions: ShownVersion[]
  /** new content replaces the current version */
  isOverwritten: boolean
  /** the selected version and its predecessor */
  shown: { version: number; content: MessageContent; before: MessageContent | null }
  older: string | null
  newest: string | null
  now: number
}

export function VersionsPage(props: VersionsProps) {
  const { viewer, message, versions, now } = props
  const { version, content, before } = props.shown
  return (
    <Frame
      viewer={viewer}
      page="messages"
      title={message.name}
      tabTitle={`Versions of ${message.name}`}
      state={
        <span class="with-badge">
          <MessageBadge status={message.status} />
          {describeVersions(props)}
        </span>
      }
      action={
        version !== message.version &&
        hasRole(viewer.member.role, 'editor') && <RestoreDialog {...props} version={version} />
      }
    >
      <MessageTabs viewer={viewer} message={message} page="versions" />
      <div class="columns beside-names">
        <div>
          <section>
            <h2>{before ? `Changes in version ${version}` : `Version ${version}`}</h2>
            <Diff label={`Version ${version}`} lines={diffVersions(before, content)} />
          </section>
          {version !== message.version && (
            <section>
              <h2>{`What restoring version ${version} changes`}</h2>
              <Restored version={version} lines={diffVersions(message.content, content)} />
            </section>
          )}
        </div>
        <section>
          <h2>Versions</h2>
          <Table
            label="Versions, newest first"
            columns={columnsOf(props, now)}
            rows={versions}
            idOf={({ version }) => String(version)}
          />
          <Pager newest={props.newest ?? undefined} older={props.older ?? undefined} />
        </section>
      </div>
    </Frame>
  )
}

function describeVersions({ message: { version }, isOverwritten }: VersionsProps): string {
  const count = version === 1 ? '1 version.' : `${version} versions.`
  return isOverwritten && version === 1
    ? `${count} Saving the draft replaces it. Once the message is live, changes add versions.`
    : count
}

const columnsOf = ({ viewer, message, shown }: VersionsProps, now: number): Column<ShownVersion>[] => [
  {
    name: 'Version',
    cell: ({ version }) => (
      <a
        href={`${messagePath(viewer.app.publicId, message.id)}/versions?version=${version}`}
        aria-current={version === shown.version ? 'true' : undefined}
      >
        {`Version ${version}`}
      </a>
    ),
  },
  {
    name: 'Saved',
    cell: ({ createdAt, writer }) => (
      <>
        <Time at={createdAt} now={now} />
        <p class="hint">
          {writer === null ? 'By an unknown member' : <SentText most={60}>{upperFirst(creditActor(writer))}</SentText>}
        </p>
      </>
    ),
  },
]

type RestoreProps = Pick<VersionsProps, 'viewer' | 'message' | 'isOverwritten'> & { version: number }

const RestoreDialog = ({ viewer, message, isOverwritten, version }: RestoreProps) => (
  <Dialog id="restore" opener="Restore this version" kind="primary" title={`Restore version ${version}?`}>
    <p>
      {isOverwritten
        ? `It replaces version ${message.version}.`
        : `It becomes version ${message.version + 1}${message.status === 'live' ? ', and goes live immediately' : ''}. Waiting emails keep their version.`}
    </p>
    <div class="act">
      <ActionForm
        action={messagePath(viewer.app.publicId, message.id)}
        fields={{ basedOn: String(message.updatedAt) }}
        kind="primary"
        name="do"
        value={`restore ${version}`}
      >
        Restore
      </ActionForm>
    </div>
  </Dialog>
)

/** Compared with the current version. */
const Restored = ({ version, lines }: { version: number; lines: LineChange[] }) =>
  lines.every(({ kind }) => kind === 'same') ? (
    <p>Nothing. The current version is the same.</p>
  ) : (
    <Diff label={`Restoring version ${version}`} lines={lines} />
  )
