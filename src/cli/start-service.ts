import type { Server } from 'bun'
import { describeError } from '../core/error-text.ts'
import { addressOf, type Config, hostAndPort } from '../config.ts'
import { createBackups } from '../backups/schedule.ts'
import { createSetupToken } from '../accounts/accounts.ts'
import { readEventText } from '../events/event-input.ts'
import { STORE_RULES } from '../deliveries/deliveries.ts'
import { isLoopback } from '../core/mail-addresses.ts'
import { describeService, isApi, readMailUrl } from '../core/mail-apis.ts'
import { isRefusedHost, listPrivateHosts } from '../core/public-addresses.ts'
import { createDependencies, keepSecret } from '../dependencies.ts'
import { systemClock } from '../core/clock.ts'
import type { DataLocation } from '../core/data-location.ts'
import { createSimulations } from '../deliveries/simulation/index.ts'
import { keepInstallation, type Senders } from '../accounts/senders.ts'
import { createTemplateWorker } from '../messages/template-worker.ts'
import { isLinkUnreachable } from '../people/unsubscribe.ts'
import { createCnameResolver, createTxtResolver } from '../mail/dns.ts'
import { createSender } from '../mail/sender.ts'
import { keepServerFacts, type ServerFacts } from '../monitoring/installation.ts'
import { aboutRisk, describeBackupFolder } from '../monitoring/doctor.ts'
import { backupFolderOf, readBackupFolder } from '../monitoring/doctor-facts.ts'
import { VERSION } from '../core/version.ts'
import { createWebhook } from '../monitoring/webhook.ts'
import { startMaintenance } from '../ops/maintenance.ts'
import { drainOnSignals, onFault, type Stopping } from '../ops/drain.ts'
import type { Health } from '../ops/health.ts'
import { createLog, type Log, type LogFields } from '../ops/log.ts'
import { createMetrics, type Metrics } from '../ops/metrics.ts'
import { createServer, createUnserved, IDLE_S } from '../server.ts'
import { describeExposed, type ExposedFile, hasDatabase, restrictDatabase } from '../store/engine/database.ts'
import { type FolderLock, lockFolder } from '../store/engine/folder-lock.ts'
import { openStoreAt } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { CommandRefused, createdLine, describeFault } from './command.ts'
import { createUpgradeReport } from './upgrade-report.ts'

/** The last limit behind those of the endpoints. */
const MAX_BODY_BYTES = 1024 * 1024 * 1024

/** Locks the folder, then the port: a conflict is reported before anything else happens. */
export async function startService({ masterKey, ...config }: Config): Promise<void> {
  const undo: (() => unknown)[] = []
  const location = config.database ?? { folder: config.data }
  const noteCreated = (): void => console.log(createdLine(location))
  try {
    const lock = 'folder' in location ? lockFolder(location.folder) : null
    if (lock) undo.unshift(lock.abandon)
    const http = listen(config)
    undo.unshift(() => http.stop(true))
    const isNew = 'folder' in location && !hasDatabase(location.folder)
    const exposed = 'folder' in location ? restrictDatabase(location.folder) : []
    const store = await openStoreAt(location, {
      threads: true,
      masterKey,
      readEvent: readEventText,
      rules: STORE_RULES,
      hasExternalCheckpoints: config.hasExternalCheckpoints,
      onUpgrade: createUpgradeReport(console.log),
      onCreate: noteCreated,
    })
    undo.unshift(store.close)
    if (isNew) noteCreated()
    await run({ ...config, location }, { lock, http, store, exposed })
  } catch (error) {
    for (const step of undo) await step()
    throw describeFault(error, location)
  }
}

type Open = Omit<Config, 'masterKey'> & { location: DataLocation }
type Opened = Pick<Stopping, 'http'> & { lock: FolderLock | null; store: Store; exposed: ExposedFile[] }

async function run(config: Open, { lock, http, store, exposed }: Opened): Promise<void> {
  const baseUrl = config.baseUrl ?? addressOf(config.host, http.port)
  const log = createLog(systemClock.now)
  for (const one of exposed) log.write('warn', describeExposed(one), one)
  const metrics = createMetrics()
  const { sender, dependencies } = await createAll(store, { ...config, baseUrl }, { log, metrics })
  const health: Health = { isDraining: false }
  const { handle } = await createServer({ ...dependencies, ...config, baseUrl, log, metrics, health })
  http.reload({ fetch: handle, error: createUnserved(baseUrl).fault })
  store.onCommit(metrics.countCommit)
  store.onForeignWrite(dependencies.access.forget)
  const stopped = 'folder' in config.location ? 'stopped because the disk failed' : 'stopped because the data was moved'
  store.onBroken((reason) => onFault(log, stopped, reason))
  const backups =
    config.backups &&
    createBackups({ folder: config.data, store, clock: systemClock, settings: config.backups, note: log.write })
  const watchesLog = config.hasExternalCheckpoints
  const maintenance = startMaintenance({ ...dependencies, backups, watchesLog }, log)
  drainOnSignals({
    http,
    answer: handle,
    health,
    log,
    maintenance,
    backups,
    lock,
    dependencies,
    sender,
    stopMailMs: config.stopMailMs,
  })
  for (const risk of await store.listRisks()) log.write('warn', aboutRisk(risk).text, risk)
  warnOfPlainHttp(baseUrl, log)
  logNoticeSender(config, log)
  warnOfBackupFolder(config, log)
  await warnOfUnreachableLinks(store, { ...config, baseUrl }, log)
  await warnOfPrivateServers(store, config, log)
  await warnOfUnverified(sender.senders, log)
  await warnOfNoSender(sender.senders, log)
  await sender.start()
  const listensOn = hostAndPort(config.host, http.port)
  lock?.noteAddress({ baseUrl, listensOn })
  await announce(store, { baseUrl, listensOn: config.baseUrl === null ? null : listensOn })
}

type Watching = { log: Log; metrics: Metrics }

async function createAll(store: Store, { location, ...config }: Open & { baseUrl: string }, watching: Watching) {
  const { log } = watching
  const [clock, { baseUrl }] = [systemClock, config]
  const unsubscribeKey = await keepSecret(store, 'unsubscribe_key')
  const templates = createTemplateWorker()
  const dns = { resolveTxt: createTxtResolver(), resolveCname: createCnameResolver() }
  const making = { store, clock, baseUrl, unsubscribeKey, templates, ...dns }
  const sender = createSender({ ...making, claimedBy: store.instanceId, ...sending(config, watching) })
  await keepInstallation(store, sender.senders.installation)
  const server = factsOf({ location, ...config })
  await keepServerFacts(store, server)
  const simulations = createSimulations(location)
  return {
    sender,
    dependencies: await createDependencies({
      store,
      clock,
      baseUrl,
      unsubscribeKey,
      mailer: sender,
      simulations,
      templates,
      noteSecurity: log.write,
      monitoring: {
        location,
        server,
        callWebhook: config.alertWebhook && createWebhook(config.alertWebhook),
        listErrors: log.listErrors,
      },
    }),
  }
}

const factsOf = (config: Open & { baseUrl: string }): ServerFacts => {
  const mail = config.smtpUrl === null ? null : readMailUrl(config.smtpUrl)
  return {
    version: VERSION,
    startedAt: systemClock.now(),
    baseUrl: config.baseUrl,
    trustedProxies: config.trustedProxies,
    mailServer: mail && { name: describeService(mail), host: mail.host, isApi: isApi(mail) },
    mailPrivateHosts: listPrivateHosts(config.mailPrivateHosts),
    hasSecondRoute: config.alertWebhook !== null || config.alertSmtpUrl !== null,
    backupEveryMs: config.backups?.everyMs ?? null,
    backupFolder: backupFolderOf(config),
  }
}

type MailConfig = Pick<Config, 'smtpUrl' | 'mailFrom' | 'mailPrivateHosts' | 'alertSmtpUrl'>
const sending = ({ smtpUrl, mailFrom, mailPrivateHosts, alertSmtpUrl }: MailConfig, { log, metrics }: Watching) => ({
  defaults: { smtpUrl, from: mailFrom, alertSmtpUrl },
  privateHosts: mailPrivateHosts,
  note: (line: LogFields & { state: string }): void => {
    log.write('info', 'delivery', line)
    metrics.countEmail(line.state)
  },
  noteServer: (line: LogFields) => log.write('warn', 'refused by a mail server', line),
  onFault: (error: unknown) => log.write('error', 'a delivery failed', { reason: describeError(error) }),
})

/** Passwords and cookies would cross the network in plain text. */
function warnOfPlainHttp(baseUrl: string, log: Log): void {
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'https:' || isLoopback(hostname)) return
  log.write('warn', 'the base URL is plain http: put a proxy with TLS in front and set --base-url https://...', {
    baseUrl,
  })
}

/** The first backup is tried a minute after the start. A bucket is not asked: it may take long to answer. */
function warnOfBackupFolder({ data, backups }: Open, log: Log): void {
  const found = readBackupFolder(backupFolderOf({ backups }), data)
  if (!found?.fault) return
  const { text, fix } = describeBackupFolder(found, found.fault)
  log.write('warn', text, { fix })
}

/** An app's sender can't send notices: its domain may belong to another account. */
function logNoticeSender({ smtpUrl, mailFrom }: Open, log: Log): void {
  if (smtpUrl === null || mailFrom !== null) return
  const text =
    'members of accounts in which no app has its own mail server get no security notices: set EVENTPOST_MAIL_FROM'
  log.write('info', text)
}

async function warnOfUnreachableLinks(
  store: Store,
  { smtpUrl, baseUrl }: Pick<Open, 'smtpUrl'> & { baseUrl: string },
  log: Log,
): Promise<void> {
  const hasServer = smtpUrl !== null || (await store.listSmtpUrls()).length > 0
  if (!hasServer || !isLinkUnreachable(baseUrl)) return
  log.write('warn', 'links in emails work only on this machine: set EVENTPOST_BASE_URL or --base-url', { baseUrl })
}

/** Apps whose mail server isn't allowed any more wait until it is. */
async function warnOfPrivateServers(store: Store, { mailPrivateHosts }: Open, log: Log): Promise<void> {
  const hosts = (await store.listSmtpUrls()).flatMap((url) => readMailUrl(url)?.host ?? [])
  for (const host of new Set(hosts.filter((one) => isRefusedHost(one, mailPrivateHosts)))) {
    log.write(
      'warn',
      "an app's mail server has a private address, which is refused: set EVENTPOST_MAIL_PRIVATE_HOSTS",
      {
        host,
      },
    )
  }
}

/** Their emails wait. The operator decides when two accounts use one domain. */
async function warnOfUnverified(senders: Senders, log: Log): Promise<void> {
  for (const { domain, accountId, appId, verifiedBy } of await senders.listUnverified()) {
    const holders = verifiedBy.join(', ') || null
    // binding would take the domain from the account that has verified it
    const fix =
      holders === null
        ? `eventpost sender bind ${domain} --account ${accountId}`
        : 'another account has verified this domain: add the TXT record from the Sender page, or remove the address'
    log.write('warn', 'a sender domain is not verified for its account', {
      domain,
      accountId,
      appId,
      fix,
      verifiedBy: holders,
    })
  }
}

async function warnOfNoSender(senders: Senders, log: Log): Promise<void> {
  for (const { appId, messages } of await senders.listWithoutSender()) {
    log.write('warn', 'live messages are not sent, because their app has no sender address: set EVENTPOST_MAIL_FROM', {
      appId,
      messages,
    })
  }
}

function listen({ host, port, baseUrl }: Pick<Config, 'host' | 'port' | 'baseUrl'>): Server<undefined> {
  const unserved = createUnserved(baseUrl ?? addressOf(host, port))
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_S,
      maxRequestBodySize: MAX_BODY_BYTES,
      // the development page would show source code
      development: false,
      // Bun's default lets other processes share the port
      reusePort: false,
      fetch: unserved.early,
      error: unserved.fault,
    })
  } catch (error) {
    throw new CommandRefused(whyNotListening(host, port, error))
  }
}

function whyNotListening(host: string, port: number, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // an unknown host name may be reported as EADDRINUSE too; port 0 is never in use
  if (code === 'EADDRINUSE' && port !== 0)
    return `Port ${port} on ${host} is in use. Stop the program that uses it, or choose another with --port.`
  if (code === 'EACCES') return `This user is not allowed to listen on port ${port}. Choose one above 1023 with --port.`
  return `The server can't listen on ${host}. Set --host to an address on this machine, such as 127.0.0.1 or 0.0.0.0.`
}

/** `listensOn` null: the base URL says it. Other programs read the base URL from the last line. */
async function announce(
  store: Store,
  { baseUrl, listensOn }: { baseUrl: string; listensOn: string | null },
): Promise<void> {
  if (!(await store.isSetUp())) {
    const token = await createSetupToken({ store, now: systemClock.now() })
    console.log(`set up at ${baseUrl}/setup?token=${token}`)
    console.log('(the link works once and expires after a day; restart the server for a new one)')
  }
  console.log(`listening on ${baseUrl}${listensOn === null ? '' : ` (${listensOn})`}`)
}
