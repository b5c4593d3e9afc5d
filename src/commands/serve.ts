import type { Server } from 'bun'
import { addressOf, type Config, readConfig, SETTINGS } from '../config.ts'
import { createAccess } from '../core/access.ts'
import { createNotes } from '../core/activation.ts'
import { createSetupToken } from '../core/accounts.ts'
import { randomBase62 } from '../core/base62.ts'
import { createFloodGuard } from '../core/flood.ts'
import { createLimits } from '../core/limits.ts'
import { type Parts, systemClock } from '../core/parts.ts'
import { createSnippetLimits, restoreSnippetLimits } from '../core/snippet-limits.ts'
import { createRehearsals } from '../core/rehearsals.ts'
import { restoreLimits } from '../core/write-limits.ts'
import { createSender } from '../mail/sender.ts'
import { startChores } from '../operations/chores.ts'
import { type Answer, drainOnSignals, onFault, type Stopping } from '../operations/drain.ts'
import type { Health } from '../operations/health.ts'
import { keepHeapSmall } from '../operations/heap.ts'
import { createLog, type Log, type LogFields } from '../operations/log.ts'
import { createMetrics } from '../operations/metrics.ts'
import { createServer } from '../server.ts'
import { lockFolder } from '../store/folder-lock.ts'
import { openStore, type Store } from '../store/store.ts'
import { type Command, CommandRefused, type Given, type Options } from './command.ts'

/** A connection that is silent this long is closed (promises 13). */
const IDLE_S = 10
/** Bodies are bounded by each door, which answers in JSON; this is only the wall behind them. */
const WALL_BYTES = 1024 * 1024 * 1024

const OPTIONS: Options = Object.fromEntries(
  Object.values(SETTINGS).map((setting) => [
    setting.flag,
    { type: 'string', value: setting.flag.toUpperCase(), meaning: setting.meaning, default: setting.default },
  ]),
)

export const serve: Command = {
  name: 'serve',
  summary: 'runs the service; prints a set-up link on an empty data folder',
  options: OPTIONS,
  run: async (given, env) => {
    const config = readConfig(flagsOf(given), env)
    keepHeapSmall(env)
    await start(config)
  },
}

const flagsOf = (given: Given) => Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, given.text(name)]))

/** Takes the folder, then the port, so that what is taken is said before anything else happens. */
async function start(config: Config): Promise<void> {
  const undo: (() => unknown)[] = []
  try {
    const lock = lockFolder(config.data)
    undo.unshift(lock.release)
    const http = listen(config)
    undo.unshift(() => http.stop(true))
    const store = await openStore(config.data, { threads: true })
    undo.unshift(store.close)
    await run(config, { lock, http, store })
  } catch (error) {
    for (const step of undo) await step()
    throw error
  }
}

type Opened = Pick<Stopping, 'lock' | 'http'> & { store: Store }

/** Answers requests, prints where, and stays until a signal drains it (promises 8). */
async function run(config: Config, { lock, http, store }: Opened): Promise<void> {
  const baseUrl = config.baseUrl ?? addressOf(config.host, http.port)
  const log = createLog(systemClock.now)
  const { sender, parts } = await createParts(store, { ...config, baseUrl }, log)
  const metrics = createMetrics()
  const health: Health = { isDraining: false }
  const { handle } = await createServer({ ...parts, ...config, baseUrl, log, metrics, health })
  const answer: Answer = (request, server) => handle(request, () => server.requestIP(request)?.address)
  http.reload({ fetch: answer, error: answerError })
  store.onCommit(metrics.countCommit)
  store.onForeignWrite(parts.access.forget)
  store.onBroken((reason) => onFault(log, 'the disk can no longer be trusted', reason))
  const chores = startChores(parts, log)
  drainOnSignals({ http, answer, health, log, chores, lock, parts, sender })
  await sender.start()
  await announce(store, baseUrl)
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const answerError = () => new Response('{"ok":false,"error":"internal_error"}', { status: 500, headers: JSON_TYPE })

async function createParts(store: Store, config: Config & { baseUrl: string }, log: Log) {
  const [clock, { baseUrl }] = [systemClock, config]
  const unsubscribeKey = await keepSecret(store, 'unsubscribe_key')
  const sender = createSender({ store, clock, baseUrl, unsubscribeKey, ...sending(config, log) })
  const parts: Parts = {
    store,
    clock,
    baseUrl,
    addressKey: await keepSecret(store, 'address_key'),
    unsubscribeKey,
    mailer: sender,
    rehearse: createRehearsals(config.data),
    access: createAccess({ store, clock }),
    limits: createLimits({ clock }),
    flood: createFloodGuard({ clock }),
    snippetLimits: createSnippetLimits({ clock }),
    notes: createNotes({ store, clock }),
  }
  await restoreLimits(parts)
  await restoreSnippetLimits(parts.snippetLimits, parts)
  return { parts, sender }
}

/** A random text of this installation, made at its first start. */
async function keepSecret(store: Store, name: string): Promise<string> {
  const known = await store.installValue(name)
  if (known !== null) return known
  await store.keepInstallValue({ name, value: randomBase62(43) })
  return (await store.installValue(name)) ?? ''
}

const sending = ({ smtpUrl, mailFrom }: Config, log: Log) => ({
  claimedBy: crypto.randomUUID(),
  defaults: { smtpUrl, from: mailFrom },
  note: (line: LogFields) => log.write('info', 'delivery', line),
  onFault: (error: unknown) => log.write('error', 'a delivery failed', { reason: String(error) }),
})

/** Listens, and answers 503 until the store is open. */
function listen({ host, port }: Config): Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_S,
      maxRequestBodySize: WALL_BYTES,
      // without it an exception would be answered with a page of source code
      development: false,
      fetch: () => new Response('{"ok":false,"error":"unavailable"}', { status: 503, headers: JSON_TYPE }),
    })
  } catch {
    throw new CommandRefused(
      `Port ${port} on ${host} cannot be used. Stop what listens there, or choose another with --port.`,
    )
  }
}

async function announce(store: Store, baseUrl: string): Promise<void> {
  if (!(await store.isSetUp())) {
    const token = await createSetupToken({ store, now: systemClock.now() })
    console.log(`set up at ${baseUrl}/setup?token=${token}`)
  }
  console.log(`listening on ${baseUrl}`)
}
