import { readConfig, SETTINGS, type SettingName } from '../config.ts'
import { type Command, type Given, optionOf, type Options, warnOfUnknownSettings } from './command.ts'

const OPTIONS: Options = Object.assign({}, ...(Object.keys(SETTINGS) as SettingName[]).map(optionOf))

export const serve: Command = {
  name: 'serve',
  summary: 'runs the server; prints a setup link if there is no account yet',
  options: OPTIONS,
  run: async (given, env) => {
    const config = readConfig(flagsOf(given), env)
    warnOfUnknownSettings(env)
    // no other command loads it: that takes a third of their start (measured)
    const { startService } = await import('./start-service.ts')
    await startService(config)
  },
}

const flagsOf = (given: Given) => Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, given.text(name)]))
