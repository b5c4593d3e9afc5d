/** @jsxImportSource preact */
import { formatBytes } from '../../core/bytes.ts'
import { describeDifference, isClockNoticed } from '../../core/clock-difference.ts'
import { formatCounted } from '../../core/count.ts'
import { formatDuration, formatShortDuration } from '../../core/format-time.ts'
import { type Finding, type FindingPage, summarize } from '../../monitoring/doctor.ts'
import { describeProblem, type SystemState, type TestedRoute } from '../../monitoring/monitor.ts'
import type { Alert } from '../../store/alerts.ts'
import type { Backup } from '../../store/backups.ts'
import { isSilent } from '../../store/instances.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { RestoredNotice } from '../layout/restored-notice.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { None } from '../people/tags.tsx'
import { Badge } from '../ui/badge.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Moment, Time } from '../ui/time.tsx'
import { Fact, Values } from '../ui/values.tsx'

/** Results of a test alert; null: none was requested. */
export type Tested = TestedRoute[] | { refused: string } | null

type SystemProps = { viewer: Viewer; state: SystemState; tested: Tested }

export const SystemPage = (props: SystemProps) => {
  const { viewer, state } = props
  return (
    <Frame
      viewer={viewer}
      page="system"
      title="System"
      state={summarize(state.findings)}
      action={<ButtonLink href={pathOf(viewer.app.publicId, 'system')}>Refresh</ButtonLink>}
    >
      <RestoredNotice viewer={viewer} restore={state.restore} />
      <Findings viewer={viewer} findings={state.findings} />
      <div class="columns">
        <Installation {...props} />
        <Work {...props} />
      </div>
      <Alerts {...props} />
      <Backups {...props} />
      <Errors {...props} />
    </Frame>
  )
}

/** Null: the viewer can't open it. */
function hrefOf({ app, accounts }: Viewer, { path }: FindingPage): string | null {
  if (!path.startsWith('/')) return `/apps/${app.publicId}/${path}`
  const appId = /^\/apps\/([^/]+)/.exec(path)?.[1]
  return appId === undefined || accounts.some(({ apps }) => apps.some((one) => one.publicId === appId)) ? path : null
}

const Fix = ({ viewer, finding: { fix, page } }: { viewer: Viewer; finding: Finding }) => {
  const href = page ? hrefOf(viewer, page) : null
  const lines = fix === null || (href !== null && page?.saysFix) ? [] : fix.split('\n')
  return (
    <>
      {lines.map((line) => (
        <span key={line} class="hint fix">
          <SentText>{line}</SentText>
        </span>
      ))}
      {href !== null && (
        <a class="fix" href={href}>
          {page?.label}
        </a>
      )}
    </>
  )
}

const Findings = ({ viewer, findings }: { viewer: Viewer; findings: Finding[] }) => {
  const open = findings.filter(({ state }) => state === 'bad' || state === 'caution')
  if (open.length === 0) return null
  return (
    <section>
      <h2>Needs attention</h2>
      <ul class="attention">
        {open
          .toSorted((a, b) => Number(b.state === 'bad') - Number(a.state === 'bad'))
          .map((finding) => {
            const { check, state, text } = finding
            return (
              <li key={text} class={state === 'bad' ? 'bad' : undefined}>
                <Icon name="warning" />
                <span>
                  <span class="unseen">{state === 'bad' ? 'Problem: ' : 'Recommendation: '}</span>
                  <SentText>{text}</SentText>
                  <Fix viewer={viewer} finding={finding} />
                </span>
                <span class="hint">{check}</span>
              </li>
            )
          })}
      </ul>
    </section>
  )
}

const Installation = ({ viewer: { now }, state }: SystemProps) => {
  const { server, sizes, schemaVersion, restore, isLocal, instances } = state
  return (
    <section>
      <h2>Installation</h2>
      <Values isCompact>
        <Fact name="Version">
          {server.version}, {isLocal ? 'schema' : 'PostgreSQL schema'} {schemaVersion}
        </Fact>
        {instances.length === 0 && (
          <Fact name="Started">
            <Time at={server.startedAt} now={now} />
          </Fact>
        )}
        {restore !== null && (
          <Fact name="Restored from a backup">
            <Moment at={restore.at} />
          </Fact>
        )}
        <Fact name="Public address">{server.baseUrl}</Fact>
        <Fact name="Database">
          {formatBytes(sizes.databaseBytes)}
          {isLocal ? `, and ${formatBytes(sizes.logBytes)} of write-ahead log` : ' in PostgreSQL'}
        </Fact>
        {isLocal && (
          <Fact name="Free disk space">{sizes.freeBytes === null ? 'Unknown' : formatBytes(sizes.freeBytes)}</Fact>
        )}
        {instances.length > 0 && (
          <Fact name="Instances">
            <Instances instances={instances} now={now} />
          </Fact>
        )}
        <Fact name="Memory">{formatBytes(sizes.memoryBytes)}</Fact>
      </Values>
    </section>
  )
}

const Instances = ({ instances, now }: Pick<SystemState, 'instances'> & { now: number }) => (
  <div>
    {instances.map((instance, index) => {
      const { since, isThis, clockAheadMs, place, silentMs } = instance
      return (
        <div key={index}>
          <SentText>{place}</SentText>
          {isThis && ' (this one)'}, started <Time at={since} now={now} />
          {isClockNoticed(clockAheadMs) && `, clock ${describeDifference(clockAheadMs)}`}
          {isSilent(instance) && (
            <>
              {' '}
              <Badge mood="caution">{`Last seen ${formatShortDuration(silentMs)} ago`}</Badge>
            </>
          )}
        </div>
      )
    })}
  </div>
)

const Work = ({ viewer: { now }, state: { server, queue, sizes } }: SystemProps) => (
  <section>
    <h2>Queue</h2>
    <Values isCompact>
      <Fact name="Emails waiting">{formatCounted(queue.waiting)}</Fact>
      <Fact name="Emails due now">
        <span>
          {formatCounted(queue.due)}
          {queue.oldestDueAt !== null && (
            <>
              , the oldest <Time at={queue.oldestDueAt} now={now} />
            </>
          )}
        </span>
      </Fact>
      <Fact name="Writes waiting">{formatCounted(sizes.waitingWrites)}</Fact>
      <Fact name="Mail server">
        {server.mailServer === null ? 'Not set. Apps can have their own.' : server.mailServer.name}
      </Fact>
    </Values>
  </section>
)

const listRoutes = ({ emails, servers, hasWebhook }: SystemState['routes']): string => {
  const by = servers.length === 0 ? ', once a mail server is set up' : ` through ${servers.join(', then ')}`
  const email = emails.length === 0 ? null : `Email to ${new Intl.ListFormat('en').format(emails)}${by}.`
  const webhook = hasWebhook ? 'The webhook in EVENTPOST_ALERT_WEBHOOK_URL.' : 'No webhook is set up.'
  return [email, webhook].filter((text) => text !== null).join(' ')
}

const Alerts = ({ viewer, state: { alerts, routes }, tested }: SystemProps) => (
  <section id="alerts">
    <div class="section-head">
      <h2>Alerts</h2>
      <ActionForm action={pathOf(viewer.app.publicId, 'system/test')}>Send a test alert</ActionForm>
    </div>
    <p class="hint">
      <SentText>{listRoutes(routes)}</SentText> <a href="/docs/alerts">How alerts work</a>
    </p>
    {tested !== null && <TestNotices tested={tested} />}
    {alerts.length > 0 && (
      <Table label="Alerts" columns={alertColumns(viewer.now)} rows={alerts} idOf={({ id }) => id} />
    )}
  </section>
)

const TestNotices = ({ tested }: { tested: NonNullable<Tested> }) =>
  'refused' in tested ? (
    <Notice kind="error">{tested.refused}</Notice>
  ) : tested.length === 0 ? (
    <Notice kind="caution">There is no way to send an alert yet. Set up a mail server or a webhook.</Notice>
  ) : (
    <Notice kind={tested.every(({ problem }) => problem === null) ? 'done' : 'error'}>
      {tested.map(({ route, problem }) => (
        <div key={route}>
          {problem === null ? `${route}: the test alert was sent.` : `${route}: ${describeProblem(problem)}`}
        </div>
      ))}
    </Notice>
  )

const alertColumns = (now: number): Column<Alert>[] => [
  {
    name: 'State',
    cell: ({ resolvedAt }) => (
      <Badge mood={resolvedAt === null ? 'bad' : 'off'}>{resolvedAt === null ? 'Open' : 'Resolved'}</Badge>
    ),
  },
  { name: 'What', isUnlabelled: true, cell: ({ title }) => <SentText>{title}</SentText> },
  { name: 'Began', cell: ({ openedAt }) => <Time at={openedAt} now={now} /> },
  { name: 'Lasted', cell: ({ openedAt, resolvedAt }) => formatDuration((resolvedAt ?? now) - openedAt) },
]

const Backups = ({ state: { backups, isLocal } }: SystemProps) => (
  <section>
    <h2>Backups</h2>
    {!isLocal ? (
      <p class="hint">
        Made with PostgreSQL's own tools. <a href="/docs/postgresql#backups">How to back up PostgreSQL</a>
      </p>
    ) : backups.length === 0 ? (
      <p class="hint">
        No backup yet. <a href="/docs/backups">How to make backups</a>
      </p>
    ) : (
      <Table
        label="Backups"
        columns={BACKUP_COLUMNS}
        rows={backups}
        idOf={({ startedAt, place }) => `${startedAt} ${place}`}
      />
    )}
  </section>
)

/** Most errors name the file. */
const describePlace = (place: string, error: string | null): string =>
  error === null ? place : error.includes(place) ? error : `${place}: ${error}`

const BACKUP_COLUMNS: Column<Backup>[] = [
  {
    name: 'State',
    cell: ({ error }) => <Badge mood={error === null ? 'good' : 'bad'}>{error === null ? 'Done' : 'Failed'}</Badge>,
  },
  {
    name: 'Where',
    isUnlabelled: true,
    cell: ({ place, error }) => <SentText most={300}>{describePlace(place, error)}</SentText>,
  },
  {
    name: 'Size',
    isWhole: true,
    cell: ({ bytes }) => (bytes === 0 ? <None /> : formatBytes(bytes).replace(' ', '\u00a0')),
  },
  { name: 'Finished', cell: ({ finishedAt }) => <Moment at={finishedAt} /> },
]

const Errors = ({ state: { errors } }: SystemProps) => (
  <section>
    <h2>Last errors</h2>
    {errors.length === 0 ? (
      <p class="hint">None since the server started.</p>
    ) : (
      <Table
        label="Last errors"
        columns={ERROR_COLUMNS}
        rows={errors}
        idOf={({ at, message, reason }) => `${at} ${message} ${reason}`}
      />
    )}
  </section>
)

const ERROR_COLUMNS: Column<SystemState['errors'][number]>[] = [
  { name: 'When', cell: ({ at }) => <Moment at={at} /> },
  {
    name: 'What',
    isUnlabelled: true,
    cell: ({ message, reason }) => (
      <>
        {message}
        {reason !== null && (
          <span class="hint fix">
            <SentText>{reason}</SentText>
          </span>
        )}
      </>
    ),
  },
]
