import { addressOf, readConfig, readSecret, UsageError } from '../config.ts'
import { createAccount } from '../core/accounts.ts'
import { readBeginning } from '../core/beginnings.ts'
import { findPasswordFault, hashPassword } from '../core/passwords.ts'
import {
  DATA,
  expectDone,
  type Given,
  JSON_OUTPUT,
  type Command,
  type Options,
  required,
  withStore,
} from './command.ts'

const BEGINNING: Options = {
  ...DATA,
  ...JSON_OUTPUT,
  email: { type: 'string', value: 'E', meaning: "the owner's email" },
  app: { type: 'string', value: 'NAME', meaning: 'name of the app' },
  domain: { type: 'string', value: 'HOST', multiple: true, meaning: "the app's own domain; may be repeated" },
  home: { type: 'string', value: 'URL', meaning: 'its home page (default: https:// and the first domain)' },
  'password-file': { type: 'string', value: 'F', meaning: 'file with the password; without it a link sets one' },
  'base-url': { type: 'string', value: 'URL', meaning: 'where the service is reached, for the printed link' },
}

async function readPasswordHash(given: Given): Promise<string | null> {
  const path = given.text('password-file')
  if (path === undefined) return null
  const password = readSecret('--password-file', path)
  const fault = findPasswordFault(password)
  if (fault) throw new UsageError(fault)
  return hashPassword(password)
}

/** The same set-up as in the browser, without one (product.md, Command line). */
async function begin(given: Given, env: Record<string, string | undefined>, onlyFirst: boolean) {
  const text = {
    email: required(given, 'email'),
    appName: required(given, 'app'),
    domains: given.all('domain'),
    home: given.text('home') ?? null,
  }
  const reading = readBeginning(text)
  if ('errors' in reading)
    throw new UsageError(reading.errors.map(({ field, message }) => `--${field}: ${message}`).join(' '))
  const config = readConfig({ 'base-url': given.text('base-url') }, env)
  const baseUrl = config.baseUrl ?? addressOf(config.host, config.port)
  const passwordHash = await readPasswordHash(given)
  return withStore(given, env, { mayCreate: onlyFirst }, async (store) => {
    const maker = { store, now: Date.now(), actor: 'cli' }
    const made = expectDone(
      await createAccount(maker, { ...reading.input, passwordHash }, { onlyFirst, setupToken: null }),
    )
    const { passwordToken, ...printed } = made
    const signInUrl = passwordToken === null ? `${baseUrl}/` : `${baseUrl}/password?token=${passwordToken}`
    return { ...printed, signInUrl }
  })
}

export const init: Command = {
  name: 'init',
  summary: 'sets up without a browser: account, owner, app, first key, identity secret',
  options: BEGINNING,
  run: (given, env) => begin(given, env, true),
}

export const accountCreate: Command = {
  name: 'account create',
  summary: 'makes a further account, with the options and the output of init',
  options: BEGINNING,
  run: (given, env) => begin(given, env, false),
}
