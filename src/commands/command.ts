import { readConfig, SETTINGS, UsageError } from '../config.ts'
import { hasDatabase } from '../store/database.ts'
import { StoreError } from '../store/errors.ts'
import { openStore, type Store } from '../store/store.ts'
import { REFUSALS } from '../core/refusals.ts'
import type { Refused } from '../store/types.ts'

/** The options of a command line, as `parseArgs` takes them, with a word for the help. */
export type Option = {
  type: 'string' | 'boolean'
  multiple?: boolean
  value?: string
  meaning: string
  default?: string
}
export type Options = Record<string, Option>

export type Given = {
  /** the first value of an option */
  text(name: string): string | undefined
  all(name: string): string[]
  isSet(name: string): boolean
  /** what stands beside the options, after the command's own words */
  words: string[]
}

export type Command = {
  /** such as "key create" */
  name: string
  /** such as "KEYID" */
  words?: string
  summary: string
  options: Options
  /** Prints what it returns; nothing for one that runs on. */
  run(given: Given, env: Record<string, string | undefined>): Promise<Printed | void>
}

/** Rows print as a table, an object as names and values; with --json both as they are. */
export type Printed = Record<string, unknown> | Record<string, unknown>[]

export const DATA: Options = {
  data: { type: 'string', value: 'DIR', meaning: 'folder of the database', default: SETTINGS.data.default },
}
export const JSON_OUTPUT: Options = { json: { type: 'boolean', meaning: 'print JSON' } }
export const ACCOUNT: Options = {
  account: { type: 'string', value: 'ID', meaning: 'which account, where there are several (default: the first)' },
}

/** The command was understood and not done: exit 1, with this line. */
export class CommandRefused extends Error {
  override name = 'CommandRefused'
}

/** Refusals become a line and exit 1. */
export function expectDone<T extends object>(outcome: T | Refused): Exclude<T, Refused> {
  if ('refusal' in outcome) throw new CommandRefused(REFUSALS[outcome.refusal].message)
  return outcome as Exclude<T, Refused>
}

export function required(given: Given, name: string): string {
  const text = given.text(name)
  if (text === undefined || text === '') throw new UsageError(`--${name} is missing.`)
  return text
}

const folderOf = (given: Given, { EVENTPOST_DATA }: Record<string, string | undefined>): string =>
  readConfig({ data: given.text('data') }, { EVENTPOST_DATA }).data

/** Opens the store, does the work, closes it. Works beside a running server, which notices within a second. */
export async function withStore<T>(
  given: Given,
  env: Record<string, string | undefined>,
  { mayCreate }: { mayCreate: boolean },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const folder = folderOf(given, env)
  if (!mayCreate && !hasDatabase(folder)) {
    throw new StoreError(
      'missing',
      `There is no database in ${folder}. Start with eventpost init, or name its folder with --data.`,
    )
  }
  const store = await openStore(folder, { threads: false })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The account that a command is about. */
export async function findAccount(store: Store, given: Given): Promise<string> {
  const account = await store.findAccount(given.text('account') ?? null)
  if (!account) {
    const isSetUp = await store.isSetUp()
    throw new CommandRefused(
      isSetUp ? 'There is no account with this ID.' : 'There is no account yet. Run eventpost init.',
    )
  }
  return account.id
}
