import { readConfig } from '../config.ts'
import { type Command, CommandRefused, DATA, optionOf } from './command.ts'

const ANSWER_MS = 5_000

/** Addresses that mean every address of the machine, and the one that reaches the server from the machine itself. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }

export const health: Command = {
  name: 'health',
  summary: 'asks the running server whether it saves data; for the health checks of containers',
  // asks the server only, but takes --data as every command does
  options: { ...DATA, ...optionOf('host'), ...optionOf('port') },
  run: async (given, { EVENTPOST_HOST, EVENTPOST_PORT, PORT }) => {
    const { host, port } = readConfig(
      { host: given.text('host'), port: given.text('port') },
      { EVENTPOST_HOST, EVENTPOST_PORT, PORT },
    )
    const url = `http://${LOCAL[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}/readyz`
    // fetch would ask the proxy of the environment
    process.env.NO_PROXY = process.env.no_proxy = new URL(url).hostname
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null)
    if (response === null)
      throw new CommandRefused(`No server answers at ${url}. Start it, or set --host and --port as for serve.`)
    if (!response.ok) throw new CommandRefused(await readReason(response))
    return 'The server is ready.'
  },
}

async function readReason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null)
  const isAnswer = typeof body === 'object' && body !== null && 'reason' in body
  return isAnswer ? String(body.reason) : `The server answered ${response.status}.`
}
