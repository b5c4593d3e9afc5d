/** Runs the doctor beside a server or without one. It changes nothing, except that it removes old copies made before upgrades. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { addressOf, type Config } from '../config.ts'
import { checkSender } from '../accounts/sender-checks.ts'
import { listPrivateHosts, readPrivateHosts } from '../core/public-addresses.ts'
import type { DataLocation } from '../core/data-location.ts'
import { systemClock } from '../core/clock.ts'
import { isApi, describeService, readMailUrl } from '../core/mail-apis.ts'
import { VERSION } from '../core/version.ts'
import { STORE_RULES } from '../deliveries/deliveries.ts'
import { readInstallation } from '../accounts/senders.ts'
import { writeMailbox } from '../mail/api.ts'
import { createCnameResolver, createTxtResolver } from '../mail/dns.ts'
import { createSender } from '../mail/sender.ts'
import { createTemplateWorker } from '../messages/template-worker.ts'
import { aboutPermissions, diagnose, type Finding, isProblem, summarize, type Tried } from '../monitoring/doctor.ts'
import { backupFolderOf, type Lookups, readDoctorFacts } from '../monitoring/doctor-facts.ts'
import { readServerFacts, type ServerFacts } from '../monitoring/installation.ts'
import { checkWebhook } from '../monitoring/webhook.ts'
import { describeDamage, findExposed, hasDatabase, openForReading } from '../store/engine/database.ts'
import { describeFault } from './command.ts'
import { StoreError } from '../store/engine/errors.ts'
import { isFolderServed, readAddress } from '../store/engine/folder-lock.ts'
import { SCHEMA_VERSION } from '../store/engine/migrations/index.ts'
import { schemaVersion } from '../store/engine/upgrades.ts'
import { openStoreAt } from '../store/open.ts'
import type { Store } from '../store/store.ts'

/** `called`: what was reached outside of this program, whether or not it answered. */
export type Examined = { isOk: boolean; summary: string; findings: Omit<Finding, 'page'>[]; called: string[] }

export async function examine(config: Config, { isOffline }: { isOffline: boolean }): Promise<Examined> {
  const called = new Set<string>(config.database === null ? [] : ['PostgreSQL'])
  const location = config.database ?? { folder: config.data }
  const problem = 'folder' in location ? findFolderProblem(location.folder) : null
  const findings = problem ? describeProblem(location, problem) : await examineData(config, { isOffline, called })
  const texts = findings.map(({ check, state, text, fix }) => ({ check, state, text, fix }))
  return {
    isOk: !findings.some(isProblem),
    summary: summarize(findings),
    findings: texts,
    called: [...called].toSorted(),
  }
}

type DataProblem = { text: string; fix: string }

/** Of data that can't be opened. */
function describeProblem(location: DataLocation, { text, fix }: DataProblem, found = exposedIn(location)): Finding[] {
  const check = 'folder' in location ? 'Data folder' : 'Database'
  const permissions = found.length === 0 ? [] : [aboutPermissions({ exposed: found })]
  return [{ check, state: 'bad', text, fix }, ...permissions]
}

const exposedIn = (location: DataLocation) => ('folder' in location ? findExposed(location.folder) : [])

/** What keeps the server from starting on it. */
function findFolderProblem(folder: string): DataProblem | null {
  try {
    if (!hasDatabase(folder))
      return {
        text: `There is no database in ${resolve(folder)}.`,
        fix: 'Run eventpost serve, or set --data to the folder that contains the database.',
      }
    const db = openForReading(folder)
    const version = schemaVersion(db)
    db.close()
    if (version > SCHEMA_VERSION)
      return {
        text: `The database has schema version ${version}; this executable supports versions up to ${SCHEMA_VERSION}.`,
        fix: 'Use a newer executable.',
      }
    // opening it would upgrade it
    if (version < SCHEMA_VERSION)
      return {
        text: `The database has schema version ${version}; this executable needs version ${SCHEMA_VERSION}.`,
        fix: "Start the server with this executable, which upgrades the database, or use the server's executable.",
      }
    return null
  } catch (thrown) {
    const error = describeDamage(thrown, folder)
    if (error instanceof StoreError) return splitAdvice(error.message)
    throw error
  }
}

/** The messages of the store say in their last sentences what to do. */
function splitAdvice(message: string): DataProblem {
  const end = message.indexOf('. ')
  return end < 0
    ? { text: message, fix: 'See above.' }
    : { text: message.slice(0, end + 1), fix: message.slice(end + 2) }
}

type Examining = { isOffline: boolean; called: Set<string> }

async function examineData(config: Config, examining: Examining): Promise<Finding[]> {
  const { data: folder, masterKey, database } = config
  const location = database ?? { folder }
  const exposed = exposedIn(location)
  try {
    const isServed = database !== null || isFolderServed(folder)
    const store = await openStoreAt(location, { threads: false, masterKey, rules: STORE_RULES, mayCreate: false })
    try {
      const server = await completeFacts(config, store)
      const stored = await readInstallation(store)
      const from = config.mailFrom ?? (stored?.from ? writeMailbox(stored.from) : null)
      const { mailer, close } = openMailer({ ...config, mailFrom: from }, { store, server })
      const hasSecondRoute = server.hasSecondRoute || config.alertWebhook !== null || config.alertSmtpUrl !== null
      const removedCopies = await store.removeOldCopies(await findCheckedNow(store))
      const given = {
        store,
        clock: systemClock,
        location,
        mailer,
        server,
        isServed,
        hasSecondRoute,
        exposed,
        removedCopies,
      }
      const findings = diagnose(await readDoctorFacts(given, createLookups(config, examining, { mailer, server })))
      await close()
      return findings
    } finally {
      await store.close()
    }
  } catch (thrown) {
    const error = describeFault(thrown, location)
    if (error instanceof StoreError) return describeProblem(location, splitAdvice(error.message), exposed)
    throw error
  }
}

/** A clock that is ahead would remove a new copy. It is at least as late as the newest stored row. */
const findCheckedNow = async (store: Store): Promise<number> =>
  Math.min(systemClock.now(), (await store.findNewestTime()) ?? 0)

/** The settings of this process, else those of the server that ran last. */
async function completeFacts(config: Config, store: Store): Promise<ServerFacts> {
  const stored = await readServerFacts(store)
  const url = config.baseUrl ?? stored?.baseUrl ?? (config.database === null ? readAddress(config.data) : null)
  const mail = config.smtpUrl === null ? null : readMailUrl(config.smtpUrl)
  const own = listPrivateHosts(config.mailPrivateHosts)
  return {
    version: stored?.version ?? VERSION,
    startedAt: stored?.startedAt ?? systemClock.now(),
    baseUrl: url ?? addressOf(config.host, config.port),
    trustedProxies: config.trustedProxies.length > 0 ? config.trustedProxies : (stored?.trustedProxies ?? []),
    mailServer: mail
      ? { name: describeService(mail), host: mail.host, isApi: isApi(mail) }
      : (stored?.mailServer ?? null),
    mailPrivateHosts: own.length > 0 ? own : (stored?.mailPrivateHosts ?? []),
    hasSecondRoute: stored?.hasSecondRoute ?? false,
    backupEveryMs: config.backups?.everyMs ?? stored?.backupEveryMs ?? null,
    backupFolder: config.backups ? backupFolderOf(config) : (stored?.backupFolder ?? null),
  }
}

/** It sends nothing: its loop doesn't start. */
function openMailer(config: Config, { store, server }: { store: Store; server: ServerFacts }) {
  const { smtpUrl, mailFrom, alertSmtpUrl } = config
  const allowed = readPrivateHosts(server.mailPrivateHosts)
  const mailer = createSender({
    store,
    clock: systemClock,
    baseUrl: server.baseUrl,
    unsubscribeKey: '',
    templates: createTemplateWorker(),
    claimedBy: crypto.randomUUID(),
    defaults: { smtpUrl, from: mailFrom, alertSmtpUrl },
    privateHosts: 'wrong' in allowed ? config.mailPrivateHosts : allowed,
    resolveTxt: createTxtResolver(),
    resolveCname: createCnameResolver(),
    note: () => {},
    noteServer: () => {},
    onFault: () => {},
  })
  return { mailer, close: mailer.stop }
}

type Mailer = ReturnType<typeof openMailer>['mailer']

type Lookers = { mailer: Mailer; server: ServerFacts }

function createLookups(config: Config, { isOffline, called }: Examining, { mailer, server }: Lookers): Lookups {
  if (isOffline) {
    return {
      tryAddress: async () => null,
      checkSender: null,
      checkServer: async () => null,
      tryRoutes: async () => [],
      isClockSynchronized,
    }
  }
  const dns = { resolveTxt: createTxtResolver(), resolveCname: createCnameResolver() }
  return {
    tryAddress: (baseUrl) => {
      called.add(`${baseUrl}/healthz`)
      return tryHealth(baseUrl)
    },
    checkSender: (sender) => {
      called.add(`DNS records of ${sender.domain}`)
      return checkSender(dns, sender)
    },
    async checkServer(app, settings, name) {
      // the password of the installation's server is a setting of the server
      if (settings.smtpUrl === null && config.smtpUrl === null) return null
      called.add(name)
      return mailer.checkServer(app, settings)
    },
    tryRoutes: async () => {
      // their addresses and passwords are settings of the server
      const isUnknown = server.hasSecondRoute && config.alertWebhook === null && config.alertSmtpUrl === null
      return isUnknown ? null : tryRoutes(config, called, mailer)
    },
    isClockSynchronized,
  }
}

async function tryRoutes(
  { alertWebhook, alertSmtpUrl }: Config,
  called: Set<string>,
  mailer: Mailer,
): Promise<Tried[]> {
  const routes: Promise<Tried>[] = []
  if (alertWebhook !== null) {
    const { host } = new URL(alertWebhook.url)
    called.add(host)
    const name = `The webhook at ${host}`
    routes.push(checkWebhook(alertWebhook).then((found) => ({ name, problem: found.isSent ? null : found.reason })))
  }
  if (alertSmtpUrl !== null) {
    const server = readMailUrl(alertSmtpUrl)
    const name = server === null ? '' : describeService(server)
    called.add(name)
    routes.push(mailer.checkAlertServer().then((problem) => ({ name: `The second mail server ${name}`, problem })))
  }
  return Promise.all(routes)
}

const ANSWER_MS = 10_000

async function tryHealth(baseUrl: string): Promise<Tried> {
  const name = baseUrl
  try {
    const answer = await fetch(`${baseUrl}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) })
    const body = await answer.text()
    if (answer.status === 200 && body.includes('"ok":true')) return { name, problem: null }
    return { name, problem: `it responds with status ${answer.status}, but the response isn't from Eventpost.` }
  } catch (error) {
    const { code, name: kind } = error as { code?: unknown; name?: string }
    const reason = kind === 'TimeoutError' ? `no response within ${ANSWER_MS / 1_000} seconds` : String(code ?? kind)
    return { name, problem: `${reason}.` }
  }
}

const TIMESYNC = '/run/systemd/timesync'

/** By systemd-timesyncd, which creates the file (systemd-timesyncd.service(8)). Other programs leave it unknown. */
const isClockSynchronized = async (): Promise<boolean | null> =>
  existsSync(TIMESYNC) ? existsSync(`${TIMESYNC}/synchronized`) : null

const SIGNS: Record<Finding['state'], string> = { good: 'ok', caution: 'advice', bad: 'PROBLEM', unknown: 'unknown' }

/** With problems, the command's last line is the summary. */
export function printFindings({ findings, isOk, summary, called }: Examined): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(SIGNS.bad.length + width + 4)
  const lines = findings.flatMap(({ check, state, text, fix }) => [
    `${SIGNS[state].padEnd(SIGNS.bad.length)}  ${check.padEnd(width)}  ${text}`,
    ...(fix === null ? [] : `Fix: ${fix}`.split('\n').map((line) => indent + line)),
  ])
  const calls = called.length === 0 ? 'No network calls were made.' : `Network calls: ${called.join(', ')}.`
  return [...lines, '', ...(isOk ? [summary] : []), calls].join('\n')
}
