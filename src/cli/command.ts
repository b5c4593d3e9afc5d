import { resolve } from 'node:path'
import {
  addressOf,
  findUnknownSettings,
  readConfig,
  type Setting,
  SETTINGS,
  type SettingName,
  UsageError,
} from '../config.ts'
import {
  databasePath,
  describeDamage,
  describeExposed,
  hasDatabase,
  restrictDatabase,
} from '../store/engine/database.ts'
import { type DataLocation, describeLocation } from '../core/data-location.ts'
import { StoreError } from '../store/engine/errors.ts'
import { readAddress } from '../store/engine/folder-lock.ts'
import type { Store } from '../store/store.ts'
import { readMailbox } from '../core/mail-addresses.ts'
import { createUpgradeReport } from './upgrade-report.ts'
import { findNearest } from '../core/nearest.ts'
import { REFUSALS } from '../core/refusals.ts'
import { type Installation, readInstallation } from '../accounts/senders.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { parseArgs } from 'node:util'

export type Option = {
  type: 'string' | 'boolean'
  multiple?: boolean
  value?: string
  meaning: string
  default?: string
  env?: string
  isRequired?: true
  /** never a flag; help names the variable only */
  isSecret?: true
}
export type Options = Record<string, Option>

export type Given = {
  text(name: string): string | undefined
  all(name: string): string[]
  isSet(name: string): boolean
  words: string[]
}

export type Command = {
  name: string
  words?: string
  summary: string
  options: Options
  /** Prints the result; a command that keeps running returns nothing. */
  run(given: Given, env: Environment): Promise<Printed | void>
}

export type Environment = Record<string, string | undefined>

/** Rows print as a table, objects as names and values; --json prints JSON. */
export type Printed = Record<string, unknown> | Record<string, unknown>[] | string

export function optionOf(name: SettingName): Options {
  const { flag, env, value, meaning, default: fallback, isSecret, isFlagSafe }: Setting = SETTINGS[name]
  const isHidden = isSecret && !isFlagSafe ? { isSecret } : {}
  return { [flag]: { type: 'string', value, meaning, default: fallback, env, ...isHidden } }
}

export const DATA: Options = { ...optionOf('data'), ...optionOf('databaseUrl') }
export const BASE_URL: Options = {
  ...optionOf('baseUrl'),
  port: {
    type: 'string',
    value: 'PORT',
    meaning: 'Port of the server, if it has no base URL.',
    default: 'the last one used, or 8080',
  },
}
export const JSON_OUTPUT: Options = { json: { type: 'boolean', meaning: 'Prints JSON.' } }
const account = (fallback: string): Options => ({
  account: {
    type: 'string',
    value: 'ID',
    meaning: 'ID of the account, if there are several; see account list.',
    default: fallback,
  },
})

export const ACCOUNT = account('the first')
/** For commands about an app or a key, which find it in every account. */
export const ANY_ACCOUNT = account('any')

export const APP: Options = {
  app: { type: 'string', value: 'ID', meaning: 'ID of the app; see app list.', default: 'the only one' },
}

/** Understood but refused: exit 1 with this line. */
export class CommandRefused extends Error {
  override name = 'CommandRefused'
}

/** Ended by a signal, with what it had done so far saved. */
export class CommandStopped extends Error {
  override name = 'CommandStopped'
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message)
  }
}

/** `stopping` is aborted by the first SIGINT or SIGTERM, with the exit code as its reason. The next one ends the process. */
export async function untilSignal<T>(work: (stopping: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const stop = (_: string, number: number): void => controller.abort(FIRST_SIGNAL_CODE + number)
  for (const signal of STOP_SIGNALS) process.once(signal, stop)
  try {
    return await work(controller.signal)
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop)
  }
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const
/** As shells report a process that a signal ended. */
const FIRST_SIGNAL_CODE = 128

export function expectDone<T extends object>(outcome: T | Refused): Exclude<T, Refused> {
  if ('refusal' in outcome) throw new CommandRefused(REFUSALS[outcome.refusal].message)
  return outcome as Exclude<T, Refused>
}

export const toIso = (at: number): string => new Date(at).toISOString()

export function required(given: Given, name: string): string {
  const text = given.text(name)
  if (text === undefined || text === '') throw new UsageError(`--${name} is missing. Add --help to list the options.`)
  return text
}

/** Where the data of a command is. */
export function locationOf(given: Given, env: Environment): DataLocation {
  const { EVENTPOST_DATA, EVENTPOST_DATABASE_CONNECTIONS, EVENTPOST_DATABASE_POOLER } = env
  const { EVENTPOST_DATABASE_URL, EVENTPOST_DATABASE_URL_FILE } = env
  const { data, database } = readConfig(
    { data: given.text('data'), 'database-url': given.text('database-url') },
    {
      EVENTPOST_DATA,
      EVENTPOST_DATABASE_URL,
      EVENTPOST_DATABASE_URL_FILE,
      EVENTPOST_DATABASE_CONNECTIONS,
      EVENTPOST_DATABASE_POOLER,
    },
  )
  return database ?? { folder: data }
}

/** For commands about the data folder itself. @throws CommandRefused with `instead` if the data is in PostgreSQL */
export function requireFolder(given: Given, env: Environment, instead: string): string {
  const location = locationOf(given, env)
  if ('folder' in location) return location.folder
  throw new CommandRefused(`The data is in ${describeLocation(location)}. ${instead}`)
}

/** Other server settings don't matter to commands. */
export const masterKeyOf = ({ EVENTPOST_MASTER_KEY, EVENTPOST_MASTER_KEY_FILE }: Environment): string | null =>
  readConfig({}, { EVENTPOST_MASTER_KEY, EVENTPOST_MASTER_KEY_FILE }).masterKey

/** From the options or environment, else where the data folder's server is or last was. */
export function readBaseUrl(given: Given, env: Environment): string {
  const port = given.text('port')
  if (port !== undefined && Number(port) === 0)
    throw new UsageError('--port cannot be 0 here: the printed address needs a port.')
  const config = readConfig({ data: given.text('data'), 'base-url': given.text('base-url'), port }, env)
  const running = port === undefined ? addressIn(locationOf(given, env)) : null
  // 0 lets the server pick a port, which nobody knows before it runs
  return config.baseUrl ?? running ?? addressOf(config.host, config.port || Number(SETTINGS.port.default))
}

export function assumesPort(given: Given, env: Environment): boolean {
  const port = given.text('port') ?? env.EVENTPOST_PORT ?? env.PORT
  if (port !== undefined && Number(port) !== 0) return false
  const { baseUrl } = readConfig({ data: given.text('data'), 'base-url': given.text('base-url') }, env)
  return baseUrl === null && addressIn(locationOf(given, env)) === null
}

const addressIn = (location: DataLocation): string | null =>
  'folder' in location ? readAddress(location.folder) : null

/** From the environment, else what the server that ran last stored. */
export async function installationOf(store: Store, env: Environment): Promise<Installation> {
  const { EVENTPOST_MAIL_FROM, EVENTPOST_SMTP_URL, EVENTPOST_SMTP_URL_FILE } = env
  const { mailFrom, smtpUrl } = readConfig({}, { EVENTPOST_MAIL_FROM, EVENTPOST_SMTP_URL, EVENTPOST_SMTP_URL_FILE })
  const stored = await readInstallation(store)
  return {
    from: mailFrom === null ? (stored?.from ?? null) : readMailbox(mailFrom),
    hasServer: smtpUrl !== null || (stored?.hasServer ?? false),
  }
}

export function warnOfUnknownSettings(env: Environment): void {
  const unknown = findUnknownSettings(env)
  if (unknown.length > 0) console.error(`eventpost: unknown settings are ignored: ${unknown.join(', ')}`)
}

/** Works beside a running server, which notices within 2 seconds. */
export async function withStore<T>(
  given: Given,
  env: Environment,
  { mayCreate }: { mayCreate: boolean },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const location = locationOf(given, env)
  warnOfUnknownSettings(env)
  const isNew = 'folder' in location && prepareFolder(location.folder, mayCreate)
  // help and wrong use do without it
  const [{ openStoreAt }, { STORE_RULES }] = await Promise.all([
    import('../store/open.ts'),
    import('../deliveries/deliveries.ts'),
  ])
  const noteCreated = (): void => console.error(createdLine(location))
  try {
    const store = await openStoreAt(location, {
      threads: false,
      masterKey: masterKeyOf(env),
      rules: STORE_RULES,
      mayCreate,
      onCreate: noteCreated,
      // on stderr, because a program may read stdout
      onUpgrade: createUpgradeReport((line) => console.error(`eventpost: ${line}`)),
    })
    if (isNew) noteCreated()
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    throw describeFault(error, location)
  }
}

/** @returns whether there is no database yet */
function prepareFolder(folder: string, mayCreate: boolean): boolean {
  const isNew = !hasDatabase(folder)
  if (!mayCreate && isNew) {
    throw new StoreError(
      'missing',
      `There is no database in ${resolve(folder)}. Run eventpost init, or set --data to the folder that contains the database.`,
    )
  }
  for (const exposed of restrictDatabase(folder)) console.error(`eventpost: ${describeExposed(exposed)}`)
  return isNew
}

export const describeFault = (error: unknown, location: DataLocation): unknown =>
  'folder' in location ? describeDamage(error, location.folder) : error

export const createdLine = (location: DataLocation): string =>
  'folder' in location
    ? `created ${databasePath(location.folder)}`
    : `created the tables in ${describeLocation(location)}`

/** From --app, which may be left out where there is only one app. */
export async function findChosenApp(store: Store, given: Given): Promise<AppRow> {
  const appId = given.text('app')
  if (appId !== undefined) return findAppOf(store, given, appId)
  const apps = await listAppsOf(store, given)
  const [only] = apps
  if (only === undefined) throw new CommandRefused(`There is no app${inAccount(given)}. Run eventpost app create.`)
  if (apps.length === 1) return only
  const named = apps.slice(0, NAMED_APPS).map(({ name, publicId }) => `${publicId} (${name})`)
  const rest = apps.length > NAMED_APPS ? ' and others; see eventpost app list' : ''
  throw new CommandRefused(`There are several apps. Choose one with --app: ${named.join(', ')}${rest}.`)
}

const NAMED_APPS = 10

export const listAppsOf = async (store: Store, given: Given): Promise<AppRow[]> =>
  (await Promise.all((await listAccountIds(store, given)).map((id) => store.listApps(id)))).flat()

export async function findAppOf(store: Store, given: Given, appId: string): Promise<AppRow> {
  for (const accountId of await listAccountIds(store, given)) {
    const app = (await store.listApps(accountId)).find(({ publicId }) => publicId === appId)
    if (app) return app
  }
  throw new CommandRefused(`There is no app with this ID${inAccount(given)}. List the apps with eventpost app list.`)
}

export async function listAccountIds(store: Store, given: Given): Promise<string[]> {
  if (given.text('account') !== undefined) return [await findAccount(store, given)]
  return (await store.listAccounts()).map(({ id }) => id)
}

export const inAccount = (given: Given): string => (given.text('account') === undefined ? '' : ' in this account')

/** Without --account, the first one, and a line says so. */
export async function findAccount(store: Store, given: Given): Promise<string> {
  const named = given.text('account') ?? null
  const account = await store.findAccount(named)
  if (!account) {
    const isSetUp = await store.isSetUp()
    throw new CommandRefused(
      isSetUp
        ? 'There is no account with this ID. List the accounts with eventpost account list.'
        : 'There is no account yet. Run eventpost init.',
    )
  }
  if (named === null && (await store.listAccounts()).length > 1) {
    // on stderr, because a program may read stdout
    console.error(`eventpost: using the first account, ${account.name} (${account.id}); see --account`)
  }
  return account.id
}

export function createUnknownCommand(words: string, commands: readonly Command[]): UsageError {
  const near = findNearest(
    words,
    commands.map(({ name }) => name),
  )
  const hint = near === undefined ? '' : ` Did you mean eventpost ${near}?`
  return new UsageError(`Unknown command.${hint} Run eventpost to list the commands.`)
}

/** @throws UsageError naming what cannot be understood */
export function readArguments(command: Command, words: string[]): Given {
  const { values, positionals, tokens } = parse(command, words)
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const twice = names.find((name, index) => !command.options[name]?.multiple && names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--${twice} is set twice. Set it once.`)
  const all = (name: string): string[] => [values[name] ?? []].flat().filter((value) => typeof value === 'string')
  return { all, text: (name) => all(name)[0], isSet: (name) => values[name] === true, words: positionals }
}

function parse(command: Command, words: string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  try {
    return parseArgs({ args: joinNumbers(words), options, allowPositionals: command.words !== undefined, tokens: true })
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s/)[0] ?? '') : ''
    throw new UsageError(`${reason}.${suggestOption(command, reason)} Run eventpost ${command.name} --help.`)
  }
}

function suggestOption({ options }: Command, reason: string): string {
  const [, unknown] = /^Unknown option '(--[^']+)'/.exec(reason) ?? []
  // secrets have no option: others could read them in the list of processes
  const names = Object.entries(options).flatMap(([name, { isSecret }]) => (isSecret ? [] : `--${name}`))
  const near = unknown === undefined ? undefined : findNearest(unknown, names)
  return near === undefined ? '' : ` Did you mean ${near}?`
}

/** A negative number is the value of the option before it, not an option. */
const joinNumbers = (words: string[]): string[] =>
  words.reduce<string[]>((joined, word) => {
    const last = joined.at(-1)
    const isValue = /^-\d/.test(word) && last !== undefined && /^--[a-z-]+$/.test(last)
    return isValue ? [...joined.slice(0, -1), `${last}=${word}`] : [...joined, word]
  }, [])
