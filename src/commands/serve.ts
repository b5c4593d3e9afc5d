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
import { startChores } from '../operations/chores.ts'
import { type Answer, drainOnSignals, onFault, type Stopping } from '../operations/drain.ts'
import type { Health } from '../operations/health.ts'
import { keepHeapSmall } from '../operations/heap.ts'
import { createLog } from '../operations/log.ts'
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
  const parts = await createParts(store, { data: config.data, baseUrl })
  const log = createLog(systemClock.now)
  const metrics = createMetrics()
  const health: Health = { isDraining: false }
  const { handle } = await createServer({ ...parts, ...config, baseUrl, log, metrics, health })
  const answer: Answer = (request, server) => handle(request, () => server.requestIP(request)?.address)
  http.reload({ fetch: answer, error: answerError })
  store.onCommit(metrics.countCommit)
  store.onForeignWrite(parts.access.forget)
  store.onBroken((reason) => onFault(log, 'the disk can no longer be trusted', reason))
  const chores = startChores(parts, log)
  drainOnSignals({ http, answer, health, log, chores, lock, parts })
  await announce(store, baseUrl)
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const answerError = () => new Response('{"ok":false,"error":"internal_error"}', { status: 500, headers: JSON_TYPE })

async function createParts(store: Store, { data, baseUrl }: { data: string; baseUrl: string }): Promise<Parts> {
  const clock = systemClock
  await store.keepInstallValue({ name: 'address_key', value: randomBase62(43) })
  const addressKey = (await store.installValue('address_key')) ?? ''
  const parts: Parts = {
    store,
    clock,
    baseUrl,
    addressKey,
    rehearse: createRehearsals(data),
    access: createAccess({ store, clock }),
    limits: createLimits({ clock }),
    flood: createFloodGuard({ clock }),
    snippetLimits: createSnippetLimits({ clock }),
    notes: createNotes({ store, clock }),
  }
  await restoreLimits(parts)
  await restoreSnippetLimits(parts.snippetLimits, parts)
  return parts
}

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
