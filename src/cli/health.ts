import { hostAndPort, readConfig, SETTINGS } from '../config.ts'
import { readListening } from '../store/engine/folder-lock.ts'
import {
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  type Given,
  locationOf,
  type Options,
} from './command.ts'

const ANSWER_MS = 5_000

/** Addresses that mean every address of the machine, and the one that reaches the server from the machine itself. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** A server on PostgreSQL has no folder that says where it listens. */
const known = (fallback: string): string => `that of the server that uses the data folder; with PostgreSQL, ${fallback}`

const SERVER: Options = {
  host: {
    type: 'string',
    value: 'ADDRESS',
    meaning: 'Address of the server.',
    default: known(SETTINGS.host.default),
    env: 'EVENTPOST_HOST',
  },
  port: {
    type: 'string',
    value: 'PORT',
    meaning: 'Port of the server.',
    default: known(SETTINGS.port.default),
    env: 'EVENTPOST_PORT',
  },
}

export const health: Command = {
  name: 'health',
  summary: 'checks that the running server can save data; for container health checks',
  options: { ...DATA, ...SERVER },
  run: async (given, env) => {
    const { host, port } = findServer(given, env)
    const url = `http://${hostAndPort(LOCAL[host] ?? host, port)}/readyz`
    // fetch would ask the proxy of the environment
    process.env.NO_PROXY = process.env.no_proxy = new URL(url).hostname
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null)
    if (response === null)
      throw new CommandRefused(`No server responds at ${url}. Start it, or set --host and --port as for serve.`)
    if (!response.ok) throw new CommandRefused(await readReason(response))
    return 'The server is ready.'
  },
}

/** From the options or environment, else where the data folder's server is or last was. */
function findServer(given: Given, env: Environment): { host: string; port: number } {
  const { EVENTPOST_HOST, EVENTPOST_PORT, PORT } = env
  const { host, port } = readConfig(
    { host: given.text('host'), port: given.text('port') },
    { EVENTPOST_HOST, EVENTPOST_PORT, PORT },
  )
  const location = locationOf(given, env)
  const known = 'folder' in location ? readListening(location.folder) : null
  if (known === null) return { host, port }
  const url = new URL(`http://${known}`)
  const isHostGiven = (given.text('host') ?? EVENTPOST_HOST) !== undefined
  // 0 lets the server pick a port; URLs leave out 80
  const isPortGiven = port !== 0 && (given.text('port') ?? EVENTPOST_PORT ?? PORT) !== undefined
  return {
    host: isHostGiven ? host : url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: isPortGiven ? port : Number(url.port || 80),
  }
}

async function readReason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null)
  const isAnswer = typeof body === 'object' && body !== null && 'reason' in body
  return isAnswer ? String(body.reason) : `The server responded with ${response.status}.`
}
