import { messageOf } from '../core/error-text.ts'
import { accountCreate, accountList, init } from './accounts.ts'
import { appSet, appTag } from './app-settings.ts'
import { appCreate, appList } from './apps.ts'
import { backup, restore } from './backups.ts'
import {
  type Command,
  CommandRefused,
  CommandStopped,
  createUnknownCommand,
  type Environment,
  readArguments,
} from './command.ts'
import { printHelp, printResult } from './print.ts'
import { health } from './health.ts'
import { doctor } from './doctor.ts'
import { keyCreate, keyList, keyRevoke, secretRotate } from './keys.ts'
import { licenses, version } from './about.ts'
import { masterKeyChange, masterKeyRemove } from './master-key.ts'
import { memberInvite, memberResetPassword } from './members.ts'
import { messageExport, messageImport } from './messages.ts'
import { peopleExport, peopleImport, personExport } from './people.ts'
import { move } from './move.ts'
import { planSet, planShow } from './plan.ts'
import { senderAdd, senderBind, senderList, senderRemove, senderUnbind } from './senders.ts'
import { serve } from './serve.ts'
import { UsageError } from '../config.ts'
import { StoreError } from '../store/engine/errors.ts'

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

/** What `eventpost` does with its words. @returns the exit code */
export async function runCommand(words: string[], env: Environment): Promise<number> {
  try {
    return await run(words, env)
  } catch (error) {
    const code = exitCodeOf(error)
    console.error(`eventpost: ${messageOf(error)}`)
    return code
  }
}

async function run(words: string[], env: Environment): Promise<number> {
  const [first = '', ...others] = words
  if (first === 'help') return run([...others, '--help'], env)
  if (VERSION.includes(first)) return run([version.name, ...others], env)
  const command = COMMANDS.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
  if (!command) return helpFor(words)
  const rest = words.slice(command.name.split(' ').length)
  if (rest.some((word) => HELP.includes(word))) return say(printHelp([command]))
  const given = readArguments(command, rest)
  const printed = await command.run(given, env)
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
