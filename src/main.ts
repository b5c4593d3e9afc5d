#!/usr/bin/env bun
// first, because it starts a thread
import './store/engine/begin-writer.ts'
import { messageOf } from './core/error-text.ts'
import { accountCreate, accountList, init } from './cli/accounts.ts'
import { appSet, appTag } from './cli/app-settings.ts'
import { appCreate, appList } from './cli/apps.ts'
import { backup, restore } from './cli/backups.ts'
import { type Command, CommandRefused, CommandStopped, createUnknownCommand, readArguments } from './cli/command.ts'
import { printHelp, printResult } from './cli/print.ts'
import { health } from './cli/health.ts'
import { doctor } from './cli/doctor.ts'
import { keyCreate, keyList, keyRevoke, secretRotate } from './cli/keys.ts'
import { licenses, version } from './cli/about.ts'
import { masterKeyChange, masterKeyRemove } from './cli/master-key.ts'
import { memberInvite, memberResetPassword } from './cli/members.ts'
import { messageExport, messageImport } from './cli/messages.ts'
import { peopleExport, peopleImport, personExport } from './cli/people.ts'
import { move } from './cli/move.ts'
import { planSet, planShow } from './cli/plan.ts'
import { senderAdd, senderBind, senderList, senderRemove, senderUnbind } from './cli/senders.ts'
import { serve } from './cli/serve.ts'
import { UsageError } from './config.ts'
import { StoreError } from './store/engine/errors.ts'

const COMMANDS: Command[] = [
  serve,
  init,
  accountCreate,
  accountList,
  appCreate,
  appList,
  appSet,
  appTag,
  memberInvite,
  memberResetPassword,
  keyCreate,
  keyList,
  keyRevoke,
  secretRotate,
  backup,
  restore,
  move,
  masterKeyChange,
  masterKeyRemove,
  planShow,
  planSet,
  messageExport,
  messageImport,
  peopleExport,
  peopleImport,
  personExport,
  senderList,
  senderAdd,
  senderRemove,
  senderBind,
  senderUnbind,
  health,
  doctor,
  version,
  licenses,
]

/** Exit codes: 0 done, 1 refused, 2 wrong use; of a stopped command: 128 and the number of the signal. */
const REFUSED = 1
const WRONG_USE = 2

const HELP = ['--help', '-h']
const VERSION = ['--version', '-v']

async function main(words: string[]): Promise<number> {
  // files are readable by their user only
  process.umask(0o077)
  const [first = '', ...others] = words
  if (first === 'help') return main([...others, '--help'])
  if (VERSION.includes(first)) return main([version.name, ...others])
  const command = COMMANDS.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
  if (!command) return helpFor(words)
  const rest = words.slice(command.name.split(' ').length)
  if (rest.some((word) => HELP.includes(word))) return say(printHelp([command]))
  const given = readArguments(command, rest)
  const printed = await command.run(given, process.env)
  return printed === undefined ? 0 : say(printResult(printed, given.isSet('json')))
}

function helpFor(words: string[]): number {
  const begun = words.filter((word) => !HELP.includes(word)).map((word) => `${word} `)
  const found = COMMANDS.filter(({ name }) => name.startsWith(begun.join('')))
  if (found.length > 0) return say(printHelp(found))
  throw createUnknownCommand(begun.slice(0, 2).join('').trim(), COMMANDS)
}

function say(text: string): number {
  console.log(text)
  return 0
}

/** Known refusals print one line; anything else is a bug. */
function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return WRONG_USE
  if (error instanceof CommandStopped) return error.exitCode
  if (error instanceof StoreError || error instanceof CommandRefused) return REFUSED
  throw error
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.exitCode = exitCodeOf(error)
  console.error(`eventpost: ${messageOf(error)}`)
}
