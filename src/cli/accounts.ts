import { readSecret, UsageError } from '../config.ts'
import { createAccount, provePassword } from '../accounts/accounts.ts'
import { readAccountInput } from '../accounts/account-input.ts'
import { findPasswordFault, type PasswordContext } from '../accounts/passwords.ts'
import { REFUSALS } from '../core/refusals.ts'
import type { Store } from '../store/store.ts'
import { APP_ADDRESSES } from './apps.ts'
import {
  assumesPort,
  BASE_URL,
  CommandRefused,
  DATA,
  type Environment,
  expectDone,
  type Given,
  JSON_OUTPUT,
  type Command,
  type Options,
  readBaseUrl,
  required,
  toIso,
  withStore,
} from './command.ts'

const BEGINNING: Options = {
  ...DATA,
  ...JSON_OUTPUT,
  ...BASE_URL,
  email: { type: 'string', value: 'EMAIL', meaning: "The owner's email.", isRequired: true },
  app: { type: 'string', value: 'NAME', meaning: 'Name of the app.', isRequired: true },
  name: { type: 'string', value: 'NAME', meaning: 'Name of the account.', default: 'the name of the app' },
  ...APP_ADDRESSES,
  'password-file': {
    type: 'string',
    value: 'FILE',
    meaning: "File with the owner's password. Default: the owner joins with a link.",
  },
}

const EMAIL_TAKEN =
  'A member with this email exists, and the password is wrong. Run the command without --password-file; they then join with the printed link.'

function readPassword(given: Given, context: PasswordContext): string | null {
  const path = given.text('password-file')
  if (path === undefined) return null
  const password = readSecret('--password-file', path)
  const fault = findPasswordFault(password, context)
  if (fault) throw new UsageError(fault)
  return password
}

async function proveOwner(store: Store, email: string, password: string | null): Promise<string | null> {
  if (password === null) return null
  const proof = await provePassword(store, email, password)
  if ('refusal' in proof) throw new CommandRefused(EMAIL_TAKEN)
  return proof.hash
}

const PORT_ASSUMED =
  'The link assumes port 8080. If you start the server with another --port, change the port in the link.'

async function begin(given: Given, env: Environment, onlyFirst: boolean) {
  const text = {
    email: required(given, 'email'),
    appName: required(given, 'app'),
    name: given.text('name'),
    domains: given.all('domain'),
    home: given.text('home') ?? null,
  }
  const reading = readAccountInput(text)
  if ('errors' in reading)
    throw new UsageError(reading.errors.map(({ field, message }) => `--${field}: ${message}`).join(' '))
  const [baseUrl, isAssumed] = [readBaseUrl(given, env), assumesPort(given, env)]
  const names = [text.appName, text.name ?? '']
  const password = readPassword(given, { email: text.email, names })
  return withStore(given, env, { mayCreate: onlyFirst }, async (store) => {
    const maker = { store, now: Date.now(), actor: 'cli' }
    if (onlyFirst && (await store.isSetUp())) throw new CommandRefused(REFUSALS.already_set_up.message)
    const passwordHash = await proveOwner(store, reading.input.email, password)
    const beginning = { ...reading.input, passwordHash }
    const { inviteToken, ...printed } = expectDone(
      await createAccount(maker, beginning, { onlyFirst, setupToken: null }),
    )
    const signInUrl = inviteToken === null ? `${baseUrl}/` : `${baseUrl}/password?token=${inviteToken}`
    if (isAssumed) console.error(PORT_ASSUMED)
    return { ...printed, signInUrl }
  })
}

export const init: Command = {
  name: 'init',
  summary: 'sets up an account, owner, app, key and identity secret without a browser',
  options: BEGINNING,
  run: (given, env) => begin(given, env, true),
}

export const accountCreate: Command = {
  name: 'account create',
  summary:
    'creates another account, with the same options and output as init; its owner can already be a member of others',
  options: BEGINNING,
  run: (given, env) => begin(given, env, false),
}

export const accountList: Command = {
  name: 'account list',
  summary: 'lists the accounts, oldest first',
  options: { ...DATA, ...JSON_OUTPUT },
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const accounts = await store.listAccounts()
      return accounts.map(({ id, name, createdAt }) => ({ accountId: id, name, createdAt: toIso(createdAt) }))
    }),
}
