import { readFileSync } from 'node:fs'
import { UsageError } from '../config.ts'
import { describeStillSending } from '../core/hand-overs.ts'
import { exportMessages, importMessages } from '../messages/message-files.ts'
import { isRefusal, type Refusal, REFUSALS } from '../core/refusals.ts'
import { createTemplateWorker } from '../messages/template-worker.ts'
import { MESSAGE_STATUSES, type MessageStatus } from '../store/message-types.ts'
import { openSenders } from './senders.ts'
import {
  ANY_ACCOUNT,
  APP,
  type Command,
  CommandRefused,
  DATA,
  findChosenApp,
  JSON_OUTPUT,
  withStore,
} from './command.ts'

export const messageExport: Command = {
  name: 'message export',
  summary: "prints an app's messages as JSON",
  options: { ...DATA, ...ANY_ACCOUNT, ...APP },
  run: async (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const messages = await exportMessages(store, await findChosenApp(store, given))
      console.log(JSON.stringify(messages, null, 2))
    }),
}

export const messageImport: Command = {
  name: 'message import',
  words: 'FILE',
  summary: 'imports messages from a file, matched by name, with their status; prints what changed',
  options: {
    ...DATA,
    ...ANY_ACCOUNT,
    ...APP,
    ...JSON_OUTPUT,
    status: {
      type: 'string',
      value: 'draft|live|paused',
      meaning: 'Status of all imported messages.',
      default: 'as in the file',
    },
    'dry-run': { type: 'boolean', meaning: 'Prints what would change, and saves nothing.' },
  },
  run: async (given, env) => {
    const [path, ...more] = given.words
    if (path === undefined || more.length > 0)
      throw new UsageError('Specify one message file: eventpost message import FILE.')
    const [file, status] = [readFile(path), readStatus(given.text('status'))]
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const app = await findChosenApp(store, given)
      const by = { accountId: app.accountId, appId: app.id, actor: 'cli', at: Date.now() }
      const senders = await openSenders(store, env)
      const context = { store, app, senders, templates: createTemplateWorker() }
      const outcome = await importMessages(context, by, { file, status, dryRun: given.isSet('dry-run') })
      if (isRefusal(outcome)) throw new CommandRefused(sentencesOf(outcome).join(' '))
      // on stderr, because a program may read stdout
      if (given.isSet('dry-run')) console.error('eventpost: nothing was saved')
      if (outcome.stillSending > 0) console.error(describeStillSending(outcome.stillSending))
      for (const { field, message } of outcome.warnings)
        console.error(`eventpost: ${nameMessage(field, outcome.messages)}: ${message}`)
      return outcome.messages.map((one) => ({ ...one, fields: one.fields.join(' ') }))
    })
  },
}

/** `[0].mail` becomes `Welcome: mail`. */
const nameMessage = (field: string | undefined, messages: readonly { name: string }[]): string =>
  (field ?? '').replace(/^\[(\d+)\]\.?/, (place, index) => {
    const name = messages[Number(index)]?.name
    return name === undefined ? place : `${name}: `
  })

function sentencesOf({ refusal, field, message, errors }: Refusal): string[] {
  const all = errors ?? [{ field, message: message ?? REFUSALS[refusal].message }]
  return all.map((error) => (error.field === undefined ? error.message : `${error.field}: ${error.message}`))
}

function readFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new CommandRefused(
      error instanceof SyntaxError
        ? `${path} is not JSON: ${error.message}`
        : `${path} can't be read. Check its path and permissions.`,
    )
  }
}

function readStatus(text: string | undefined): MessageStatus | null {
  const status = MESSAGE_STATUSES.find((one) => one === text)
  if (text !== undefined && status === undefined) throw new UsageError('--status takes draft, live or paused.')
  return status ?? null
}
