#!/usr/bin/env bun
import { parseArgs } from 'node:util'
import { accountCreate, init } from './commands/accounts.ts'
import { appCreate } from './commands/apps.ts'
import { type Command, CommandRefused, type Given } from './commands/command.ts'
import { printHelp, printResult } from './commands/print.ts'
import { keyCreate, keyList, keyRevoke, secretRotate } from './commands/keys.ts'
import { messageExport, messageImport } from './commands/messages.ts'
import { planSet } from './commands/plan.ts'
import { serve } from './commands/serve.ts'
import { version } from './commands/version.ts'
import { UsageError } from './config.ts'
import { StoreError } from './store/errors.ts'

const COMMANDS: Command[] = [
  serve,
  init,
  accountCreate,
  appCreate,
  keyCreate,
  keyList,
  keyRevoke,
  secretRotate,
  planSet,
  messageExport,
  messageImport,
  version,
]

/** Exit codes (product.md): 0 done, 1 refused, 2 wrong use. */
const REFUSED = 1
const WRONG_USE = 2

async function main(words: string[]): Promise<number> {
  // files and folders of this service are its user's alone
  process.umask(0o077)
  const command = COMMANDS.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
  if (!command) return helpFor(words)
  const rest = words.slice(command.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) return say(printHelp([command]))
  const given = readWords(command, rest)
  const printed = await command.run(given, process.env)
  return printed === undefined ? 0 : say(printResult(printed, given.isSet('json')))
}

function helpFor(words: string[]): number {
  const isAsked = words.length === 0 || words.some((word) => ['help', '--help', '-h'].includes(word))
  if (isAsked) return say(printHelp(COMMANDS))
  throw new UsageError('There is no such command. Run eventpost for the list.')
}

function say(text: string): number {
  console.log(text)
  return 0
}

function readWords(command: Command, words: string[]): Given {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  try {
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: command.words !== undefined })
    const all = (name: string): string[] => [values[name] ?? []].flat().filter((value) => typeof value === 'string')
    return { all, text: (name) => all(name)[0], isSet: (name) => values[name] === true, words: positionals }
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s/)[0] ?? '') : ''
    throw new UsageError(`${reason}. Run eventpost ${command.name} --help.`)
  }
}

/** Known refusals print one line; anything else is a bug and shows itself. */
function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return WRONG_USE
  if (error instanceof StoreError || error instanceof CommandRefused) return REFUSED
  throw error
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.exitCode = exitCodeOf(error)
  console.error(`eventpost: ${error instanceof Error ? error.message : String(error)}`)
}
