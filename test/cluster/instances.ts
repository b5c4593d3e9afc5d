/** Three instances behind a load balancer, each with a way of its own to the database. */
import { eventpost, eventpostJson, type Begun, startServer } from '../cli/process.ts'
import { makeFolder } from '../data-folder.ts'
import type { Databases } from './databases.ts'
import { type Proxy, startProxy, type Target } from './proxy.ts'

/** As a load balancer checks: an instance is out after so many failed checks in a row, and in again after one that is good. */
const CHECK_MS = 100
const CHECK_TIMEOUT_MS = 2_000
const FALL = 2
export const FROM = 'Demo <demo@example.com>'

export type Instance = {
  url: string
  target: Target
  way: Proxy
  isUp: boolean
  signal: (name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM') => void
  ended: () => Promise<unknown>
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>

/** `env`: of each instance. */
export async function startCluster(databases: Databases, env: Record<string, string>, count = 3) {
  const { folder, remove } = makeFolder()
  const instances: Instance[] = []
  const balancer = await startProxy(() => instances.filter(({ isUp }) => isUp).map(({ target }) => target))
  const url = `http://127.0.0.1:${balancer.port}`

  const isReady = async (instance: Instance): Promise<boolean> => {
    const response = await fetch(`${instance.url}/readyz`, {
      headers: { Host: new URL(url).host },
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    }).catch(() => null)
    return response?.ok ?? false
  }
  let isOver = false
  const check = async (instance: Instance): Promise<void> => {
    for (let failed = 0; !isOver && instances.includes(instance); await Bun.sleep(CHECK_MS)) {
      failed = (await isReady(instance)) ? 0 : failed + 1
      instance.isUp = failed < FALL
    }
  }

  const start = async (): Promise<Instance> => {
    const { url: database, way } = await databases.openWay()
    const given = { ...env, EVENTPOST_DATABASE_URL: database, EVENTPOST_BASE_URL: url }
    const server = await startServer({ data: folder, env: given, timeoutMs: 0 })
    const listens = new URL(/\((127\.0\.0\.1:\d+)\)/.exec(server.said.out)?.[1]?.replace(/^/, 'http://') ?? server.url)
    const instance: Instance = {
      url: listens.origin,
      target: { host: listens.hostname, port: Number(listens.port) },
      way,
      isUp: true,
      signal: (name) => void process.kill(server.pid, name),
      ended: server.ended,
    }
    instances.push(instance)
    void check(instance)
    return instance
  }
  for (let index = 0; index < count; index += 1) await start()

  return {
    url,
    instances,
    start,
    async stop(): Promise<void> {
      isOver = true
      for (const one of instances) {
        try {
          one.signal('SIGCONT')
          one.signal('SIGTERM')
        } catch {}
      }
      await Promise.all(instances.map(({ ended }) => ended()))
      await balancer.stop()
      remove()
    },
  }
}

/** An account without limits in the database, and live messages by event that wait so many minutes. */
export async function prepare(databases: Databases, events: Record<string, number>): Promise<Begun> {
  const env = { EVENTPOST_DATABASE_URL: databases.url(), EVENTPOST_MAIL_FROM: FROM }
  const begun = await eventpostJson<Begun>(['init', '--email', 'owner@example.com', '--app', 'Demo'], { env })
  await liftLimits([], env)
  await importMessages(events, [], env)
  return begun
}

type Environment = Record<string, string>

/** `where`: options that name the data. */
export async function liftLimits(where: string[], env: Environment): Promise<void> {
  const names = ['events-per-hour', 'adds-per-hour', 'new-people-per-month']
  await eventpostJson(['plan', 'set', ...where, ...names.flatMap((name) => [`--${name}`, 'unlimited'])], { env })
}

export async function importMessages(events: Record<string, number>, where: string[], env: Environment): Promise<void> {
  const { folder, remove } = makeFolder()
  const messages = Object.entries(events).map(([event, minutes]) => ({
    name: event,
    trigger: { event },
    wait: { minutes },
    mail: { subject: 'Your results are ready', body: 'Here they are.', category: 'transactional' },
  }))
  await Bun.write(`${folder}/messages.json`, JSON.stringify(messages))
  const words = ['message', 'import', `${folder}/messages.json`, '--status', 'live', ...where]
  const { code, err } = await eventpost(words, { env })
  remove()
  if (code !== 0) throw new Error(err)
}
