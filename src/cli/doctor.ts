import { readConfig } from '../config.ts'
import { type Command, CommandRefused, DATA, JSON_OUTPUT, optionOf, warnOfUnknownSettings } from './command.ts'
import { printResult } from './print.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'looks for common mistakes and says how to fix them; exits with code 1 if there are problems',
  options: {
    ...DATA,
    ...optionOf('baseUrl'),
    ...optionOf('trustedProxies'),
    offline: { type: 'boolean', meaning: 'Makes no network calls, except to PostgreSQL.' },
    ...JSON_OUTPUT,
  },
  run: async (given, env) => {
    const names = ['data', 'base-url', 'trusted-proxies'] as const
    const flags = Object.fromEntries(names.map((name) => [name, given.text(name)]))
    const config = readConfig(flags, env)
    warnOfUnknownSettings(env)
    const { examine, printFindings } = await import('./examine.ts')
    const examined = await examine(config, { isOffline: given.isSet('offline') })
    const { isOk, summary } = examined
    console.log(given.isSet('json') ? printResult(examined, true) : printFindings(examined))
    if (!isOk) throw new CommandRefused(summary)
  },
}
