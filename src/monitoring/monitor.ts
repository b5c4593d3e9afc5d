/** Looks for problems, and tells owners and the webhook when one begins and ends. */
import type { Clock } from '../core/clock.ts'
import { makeMailbox } from '../core/mail-addresses.ts'
import { describeError } from '../core/error-text.ts'
import { formatDuration, formatTimeInZone } from '../core/format-time.ts'
import { describeReason } from '../deliveries/describe-reason.ts'
import type { Notice, NoticeResult } from '../accounts/notices.ts'
import type { Mailer } from '../messages/mailer.ts'
import type { Backup } from '../store/backups.ts'
import type { Queue } from '../store/monitoring.ts'
import { readRestore, type RestoreFacts } from '../store/restored.ts'
import type { RunningInstance } from '../store/instances.ts'
import type { Store } from '../store/store.ts'
import {
  type Alert,
  type AlertNotice,
  type BackupFacts,
  type Condition,
  findConditions,
  isOverSince,
  listDue,
  noteTry,
  planAlerts,
  subjectOf,
  waitOf,
  WEBHOOK,
} from './alerts.ts'
import type { DataLocation } from '../core/data-location.ts'
import { createAlertFacts, listAlertSenders, listOwnersOf, listTold } from './alert-facts.ts'
import { diagnose, type Finding } from './doctor.ts'
import { readDoctorFacts } from './doctor-facts.ts'
import type { ServerFacts } from './installation.ts'
import type { CallWebhook } from './webhook.ts'

type Note = (level: 'info' | 'warn', message: string, fields: Record<string, string | number | boolean | null>) => void

export type MonitorDependencies = {
  store: Store
  clock: Clock
  mailer: Mailer
  baseUrl: string
  location: DataLocation
  server: ServerFacts
  /** null: there is none */
  callWebhook: CallWebhook | null
  /** the newest first */
  listErrors: () => LoggedError[]
  note: Note
}

/** `at`: ms UTC. `reason`: in one line. */
export type LoggedError = { at: number; message: string; reason: string | null }

/** What the System page shows. Reads nothing outside of this machine. */
export type SystemState = {
  server: ServerFacts
  /** in the data folder, not in PostgreSQL */
  isLocal: boolean
  instances: RunningInstance[]
  findings: Finding[]
  sizes: {
    databaseBytes: number
    logBytes: number
    freeBytes: number | null
    waitingWrites: number
    memoryBytes: number
  }
  schemaVersion: number
  queue: Queue
  backups: Backup[]
  backupFacts: BackupFacts
  alerts: Alert[]
  /** null: this is no restored copy */
  restore: RestoreFacts | null
  /** addresses of owners, and the ways to them */
  routes: { emails: string[]; servers: string[]; hasWebhook: boolean }
  errors: LoggedError[]
}

/** `server`: of an email; null: the webhook. `problem` null: it was sent. */
export type TestedRoute = { route: string; server: string | null; problem: string | null }

export type Monitor = ReturnType<typeof createMonitor>

export function createMonitor(deps: MonitorDependencies) {
  const { store, clock, callWebhook, note } = deps
  const facts = createAlertFacts({ ...deps, backupEveryMs: deps.server.backupEveryMs })
  const absentSince = new Map<string, number>()
  /** Alerts whose problem seemed over, and was not. */
  const cameBack = new Set<string>()
  const failingServers = new Map<string, string>()
  /** Those that take no emails, too. */
  const stuckServers = new Set<string>()
  let alerts: Alert[] | null = null
  /** of this instance's turn; null: another one looks and tells */
  let epoch: number | null = null
  const unsaved = new Set<string>()
  /** Notices on their way, by alert and route. */
  const underWay = new Map<string, Promise<void>>()
  let starting: Promise<void> = Promise.resolve()
  let looking: Promise<void> = Promise.resolve()

  const load = async (): Promise<Alert[]> => (alerts ??= await store.listAlerts())

  /** The state of an earlier turn is outdated: another instance may have looked and told meanwhile. */
  const isOnDuty = async (): Promise<boolean> => {
    const found = await store.holdDuty()
    if (found !== epoch) {
      alerts = null
      for (const state of [absentSince, cameBack, unsaved]) state.clear()
    }
    epoch = found
    return epoch !== null
  }

  /** Sent even if the disk is full; the state is saved later. */
  const save = async (): Promise<void> => {
    const changed = (alerts ?? []).filter(({ id }) => unsaved.has(id))
    if (changed.length === 0 || epoch === null) return
    unsaved.clear()
    const outcome = await store.saveAlerts({ alerts: changed, epoch })
    if ('refusal' in outcome) for (const { id } of changed) unsaved.add(id)
  }

  const listRecipients = async (conditions: readonly Condition[]): Promise<Map<string | null, string[]>> => {
    const accounts = new Set(conditions.map(({ accountId }) => accountId))
    const read = async (accountId: string | null) => {
      const owners = await listTold(store, accountId)
      const routes = owners.map(({ memberId }) => memberId)
      return [accountId, callWebhook === null ? routes : [WEBHOOK, ...routes]] as const
    }
    return new Map(await Promise.all([...accounts].map(read)))
  }

  /** A look may have changed the notice while it was on its way. */
  const noteResult = (id: string, notice: AlertNotice, result: NoticeResult): AlertNotice => {
    const isIt = (one: AlertNotice): boolean => one.route === notice.route && one.isOver === notice.isOver
    const known = alerts?.find((alert) => alert.id === id)?.notices.find(isIt) ?? notice
    const noted = noteTry(known, 'reason' in result && isGone(result.reason) ? 'gone' : result.is, clock.now())
    alerts = (alerts ?? []).map((alert) =>
      alert.id === id ? { ...alert, notices: alert.notices.map((one) => (isIt(one) ? noted : one)) } : alert,
    )
    unsaved.add(id)
    return noted
  }

  const sendNotice = async (alert: Alert, notice: AlertNotice): Promise<NoticeResult> => {
    const wait = waitOf(alert, alerts ?? [])
    return notice.route === WEBHOOK
      ? tellWebhook(deps, writeWebhook(deps, { alert, isOver: notice.isOver, wait }))
      : tellOwner(deps, { alert, notice, wait, stuckServers })
  }

  const tell = async (alert: Alert, notice: AlertNotice): Promise<void> => {
    const result = await sendNotice(alert, notice).catch((error: unknown): NoticeResult => ({
      is: 'failed',
      reason: describeError(error),
    }))
    const noted = noteResult(alert.id, notice, result)
    const route = notice.route === WEBHOOK ? WEBHOOK : 'email'
    const line = { alertId: alert.id, kind: alert.kind, isOver: notice.isOver, route }
    if (result.is === 'sent') return note('info', 'alert sent', line)
    const reason = describeProblem(result.reason)
    if (result.is === 'unknown') note('warn', 'an alert may not have arrived', { ...line, reason })
    else if (notice.tries === 0 || noted.state === 'given_up')
      note('warn', 'an alert was not sent', { ...line, reason })
  }

  /** One of each alert and route at a time, so that the end follows the beginning. */
  const start = (alert: Alert, notice: AlertNotice): void => {
    const key = `${alert.id} ${notice.route}`
    if (underWay.has(key)) return
    const told = tell(alert, notice)
      .then(save)
      .catch((error: unknown) => note('warn', 'alerts were not saved', { reason: describeError(error) }))
      .finally(() => underWay.delete(key))
    underWay.set(key, told)
  }

  /**
   * Doesn't wait for slow mail servers. `hasLooked`: just now. Else, that a problem began isn't tried again: the server
   * that it is about may be back, and would send it.
   */
  const startDue = async (hasLooked: boolean): Promise<void> => {
    if (!(await isOnDuty())) return
    const known = alerts ?? (await load())
    const at = clock.now()
    for (const alert of known)
      for (const notice of listDue(alert, { alerts: known, absentSince, cameBack, at }))
        if (hasLooked || notice.isOver || notice.tries === 0) start(alert, notice)
    await save()
  }

  const look = async (): Promise<void> => {
    if (!(await isOnDuty())) return
    const known = await load()
    const open = known.filter(({ resolvedAt }) => resolvedAt === null)
    const read = await facts.read(new Map(open.map(({ subject, title }) => [subject, title])))
    failingServers.clear()
    stuckServers.clear()
    for (const { name, failing, outage } of read.servers) {
      if (failing) failingServers.set(name, failing.reason)
      if (failing || outage) stuckServers.add(name)
    }
    const conditions = findConditions(read)
    const recipients = await listRecipients(conditions)
    const recipientsOf = (accountId: string | null): string[] => recipients.get(accountId) ?? []
    const planned = planAlerts({
      alerts: alerts ?? known,
      conditions,
      absentSince,
      cameBack,
      recipientsOf,
      at: clock.now(),
    })
    alerts = planned.alerts.filter((one, index) => index < MOST_KEPT || isUnfinished(one))
    for (const { id, kind, resolvedAt, openedAt } of planned.changed) {
      if (!unsaved.has(id) && (resolvedAt !== null || !known.some((one) => one.id === id)))
        note(resolvedAt === null ? 'warn' : 'info', resolvedAt === null ? 'alert' : 'alert resolved', {
          alertId: id,
          kind,
          openedAt,
        })
      unsaved.add(id)
    }
    await save()
  }

  const send = (hasLooked: boolean): Promise<void> =>
    (starting = starting.catch(() => {}).then(() => startDue(hasLooked)))

  /** One after another, so that a slow look doesn't undo what a later one saw. */
  const inTurn = (task: () => Promise<void>): Promise<void> => (looking = looking.catch(() => {}).then(task))

  /** Forgets the failures of servers that just took an email, so that the page doesn't call them unreachable. */
  const noteSent = async (names: readonly string[], accountId: string): Promise<void> => {
    for (const name of names) facts.noteSent(name)
    const subjects = new Set(names.flatMap((name) => [null, accountId].map((id) => subjectOf({ name, accountId: id }))))
    for (const { id, subject, resolvedAt } of await load())
      if (resolvedAt === null && subjects.has(subject)) absentSince.set(id, isOverSince(clock.now()))
    await look()
  }

  return {
    /** Every ten seconds. Tells again who could not be told, also if it can't look. */
    check: (): Promise<void> => inTurn(look).finally(() => send(true)),

    /** Tells whoever is to be told now. */
    sendDue: (): Promise<void> => send(false),

    /**
     * Its problem wasn't there at the last look: it stays open in case the problem comes back. null: another instance
     * looks.
     */
    seemsOver: (alertId: string): boolean | null => (epoch === null ? null : absentSince.has(alertId)),

    /** Before the store is closed, so that it knows who was told. */
    async settle(): Promise<void> {
      const told = starting.catch(() => {}).then(() => Promise.all(underWay.values()))
      await Promise.race([told, Bun.sleep(SETTLE_MS)])
    },

    readSystem: (): Promise<SystemState> =>
      readSystem(deps, { failingServers, alerts: () => (epoch === null ? store.listAlerts() : load()) }),

    /** By each mail server and the webhook, at once. */
    async sendTest(to: { memberId: string; email: string; accountId: string }): Promise<TestedRoute[]> {
      const tested = await sendTest(deps, to)
      const names = tested.flatMap(({ server, problem }) => (server !== null && problem === null ? [server] : []))
      const recovered = names.filter((name) => stuckServers.has(name))
      if (recovered.length > 0) await inTurn(() => noteSent(recovered, to.accountId))
      return tested
    },
  }
}

/** Older ones stay in the database. */
const MOST_KEPT = 200
const SETTLE_MS = 5_000

const isUnfinished = ({ resolvedAt, notices }: Alert): boolean =>
  resolvedAt === null || notices.some(({ state }) => state === 'due')

type Known = { failingServers: ReadonlyMap<string, string>; alerts: () => Promise<Alert[]> }

/** Rows of each list. */
const SHOWN = 5

async function readSystem(deps: MonitorDependencies, { failingServers, alerts }: Known): Promise<SystemState> {
  const { store, clock, mailer, location, server, callWebhook, listErrors } = deps
  const given = { store, clock, location, mailer, server, isServed: true, hasSecondRoute: server.hasSecondRoute }
  const facts = await readDoctorFacts(given, {
    tryAddress: async () => null,
    checkSender: null,
    async checkServer(_app, _settings, name) {
      const reason = failingServers.get(name)
      return reason === undefined ? SEEN : { is: 'failed', reason }
    },
    tryRoutes: async () => [],
    isClockSynchronized: async () => null,
  })
  const owners = await listTold(store, null)
  const { waiting, ...sizes } = store.stats()
  const operator = await store.findAccount(null)
  return {
    server,
    isLocal: facts.data.isLocal,
    instances: await store.listRunning(),
    findings: diagnose(facts),
    sizes: {
      ...sizes,
      freeBytes: facts.disk?.freeBytes ?? null,
      waitingWrites: waiting,
      memoryBytes: process.memoryUsage.rss(),
    },
    schemaVersion: store.schemaVersion,
    queue: await store.summarizeQueue(clock.now()),
    backups: await store.listBackups(SHOWN),
    backupFacts: facts.backup,
    alerts: (await alerts()).slice(0, SHOWN),
    restore: await readRestore(store),
    routes: {
      emails: owners.map(({ email }) => email),
      servers: operator ? (await listAlertSenders(deps, operator.id)).map((one) => one.server) : [],
      hasWebhook: callWebhook !== null,
    },
    errors: listErrors().slice(0, SHOWN),
  }
}

/** The last probe was answered. */
const SEEN = { is: 'fine', isSecure: false, login: 'none' } as const

/** Nobody is left to be told. */
const NO_OWNER = 'This member is no longer an owner.'
const NO_WEBHOOK = 'No webhook is set up any more.'
const isGone = (problem: string): boolean => problem === NO_OWNER || problem === NO_WEBHOOK

type Wait = ReturnType<typeof waitOf>
type Telling = { alert: Alert; notice: AlertNotice; wait: Wait; stuckServers: ReadonlySet<string> }

/** By the first server that takes it; servers that send nothing come last. One that doesn't answer may have taken it. */
async function tellOwner(
  deps: MonitorDependencies,
  { alert, notice, wait, stuckServers }: Telling,
): Promise<NoticeResult> {
  const { store, baseUrl } = deps
  const owner = (await listOwnersOf(store, alert.accountId)).find(({ memberId }) => memberId === notice.route)
  const to = owner && makeMailbox('', owner.email)
  if (!to) return { is: 'failed', reason: NO_OWNER }
  const accountId = alert.accountId ?? (await store.findAccount(null))?.id ?? ''
  const senders = await listAlertSenders(deps, accountId)
  const inOrder = senders.toSorted((a, b) => Number(stuckServers.has(a.server)) - Number(stuckServers.has(b.server)))
  const mail = writeAlertMail(alert, { notice, wait, baseUrl })
  let last: NoticeResult = { is: 'failed', reason: 'No mail server is set up.' }
  for (const { send } of inOrder) {
    const result = await send(mail, to)
    if (result.is === 'sent') return result
    if (result.is === 'unknown' || last.is !== 'unknown') last = result
  }
  return last
}

async function tellWebhook(
  { callWebhook, clock }: MonitorDependencies,
  { id, body }: { id: string; body: object },
): Promise<NoticeResult> {
  if (callWebhook === null) return { is: 'failed', reason: NO_WEBHOOK }
  const result = await callWebhook({ id, at: clock.now(), body: JSON.stringify(body) })
  return result.isSent ? { is: 'sent' } : { is: 'failed', reason: result.reason }
}

const noticeId = ({ id }: Alert, { isOver }: Pick<AlertNotice, 'isOver'>): string =>
  `${id}-${isOver ? 'resolved' : 'opened'}`

const describeEnd = ({ openedAt, resolvedAt }: Alert): string =>
  `It began on ${formatTimeInZone(openedAt, 'UTC')} and lasted ${formatDuration((resolvedAt ?? openedAt) - openedAt)}.`

const REASON = 'You get this email because you own an account on this Eventpost installation.'

/** Why the end may be reported late. */
const describeFlapping = ({ times, overMs }: Wait): string =>
  `The problem has occurred ${times} times within a day, so it counts as over only after it has been gone for ${formatDuration(overMs)}.`

function writeAlertMail(
  alert: Alert,
  { notice, wait, baseUrl }: { notice: AlertNotice; wait: Wait; baseUrl: string },
): Notice {
  const { title, detail, fix, path, openedAt } = alert
  const id = `${noticeId(alert, notice)}-${notice.route}`
  const text = path === '/system' ? 'Open System' : notice.isOver ? 'View the details' : 'View the problem'
  const link = { text, url: baseUrl + path }
  if (notice.isOver) {
    return {
      id,
      subject: `Resolved: ${title}`,
      paragraphs: [`This problem is over: ${title}.`, describeEnd(alert)],
      link,
      reason: REASON,
    }
  }
  return {
    id,
    subject: `Problem: ${title}`,
    paragraphs: [
      `${title}.`,
      detail,
      fix,
      ...(wait.isLong ? [describeFlapping(wait)] : []),
      `Since ${formatTimeInZone(openedAt, 'UTC')}. You get one more email when it is over.`,
    ],
    link,
    reason: REASON,
  }
}

/** `text`: for chats, which show nothing else. */
function writeWebhook(
  { clock, baseUrl }: MonitorDependencies,
  { alert, isOver, wait }: { alert: Alert; isOver: boolean; wait: Wait },
) {
  const { id: alertId, kind, title, detail, fix, path, openedAt, resolvedAt } = alert
  const toIso = (at: number): string => new Date(at).toISOString()
  const id = noticeId(alert, { isOver })
  const again = wait.isLong ? ` ${describeFlapping(wait)}` : ''
  const text = isOver ? `Resolved: ${title}. ${describeEnd(alert)}` : `Problem: ${title}. ${detail} ${fix}${again}`
  const data = {
    alertId,
    kind,
    title,
    detail: isOver ? `The problem is over. ${describeEnd(alert)}` : detail,
    fix: isOver ? null : fix,
    openedAt: toIso(openedAt),
    resolvedAt: isOver && resolvedAt !== null ? toIso(resolvedAt) : null,
    url: baseUrl + path,
  }
  return { id, body: { type: isOver ? 'alert.resolved' : 'alert.opened', timestamp: toIso(clock.now()), data, text } }
}

const TEST_TEXT = 'This is a test. Alerts from this Eventpost installation arrive here.'

/** Every route on its own, because alerts use the second one only when the first fails. */
async function sendTest(
  deps: MonitorDependencies,
  { memberId, email, accountId }: { memberId: string; email: string; accountId: string },
): Promise<TestedRoute[]> {
  const { callWebhook, clock, baseUrl } = deps
  const to = makeMailbox('', email)
  const mail: Notice = {
    subject: 'Test alert from Eventpost',
    paragraphs: [TEST_TEXT],
    link: { text: 'Open System', url: `${baseUrl}/system` },
    reason: REASON,
  }
  const senders = await listAlertSenders(deps, accountId)
  const emails = senders.map(async ({ server, send }) => ({
    route: `Email through ${server}`,
    server,
    problem: to ? problemOf(await send(mail, to)) : 'the address is invalid',
  }))
  const body = { type: 'alert.test', timestamp: new Date(clock.now()).toISOString(), data: {}, text: TEST_TEXT }
  const webhook =
    callWebhook === null
      ? []
      : [
          tellWebhook(deps, { id: `test-${crypto.randomUUID()}`, body }).then((result) => ({
            route: 'Webhook',
            server: null,
            problem: problemOf(result),
          })),
        ]
  const tested = await Promise.all([...emails, ...webhook])
  deps.note('info', 'test alert', {
    memberId,
    routes: tested.length,
    failed: tested.filter(({ problem }) => problem).length,
  })
  return tested
}

/** In words: mail servers give codes, and the webhook sentences. */
export const describeProblem = (problem: string): string =>
  problem.includes(' ') ? problem : describeReason(problem, '', 'deferred')

const problemOf = (result: NoticeResult): string | null => (result.is === 'sent' ? null : result.reason)
