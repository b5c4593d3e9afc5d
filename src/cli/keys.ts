import { UsageError } from '../config.ts'
import { createKey, rotateIdentitySecret, type KeyScope } from '../accounts/accounts.ts'
import { KEY_SCOPES, readKeyInput } from '../accounts/api-keys.ts'
import type { Store } from '../store/store.ts'
import {
  ACCOUNT,
  ANY_ACCOUNT,
  type Command,
  CommandRefused,
  DATA,
  expectDone,
  findAccount,
  type Given,
  inAccount,
  JSON_OUTPUT,
  listAccountIds,
  required,
  toIso,
  withStore,
} from './command.ts'

const COMMON = { ...DATA, ...ACCOUNT, ...JSON_OUTPUT }

const iso = (at: number | null): string | null => (at === null ? null : toIso(at))

const SCOPE_MEANINGS: Record<KeyScope, string> = {
  standard: 'reads and writes, erases people, and sends emails',
  ingest: 'only writes',
  manage: 'like standard, but also changes messages, sends test emails, and sends failed emails again',
}

const scopeHelp = KEY_SCOPES.map((scope) => `${scope} (${SCOPE_MEANINGS[scope]})`).join(', ')

export const keyCreate: Command = {
  name: 'key create',
  summary: 'creates a key and prints it with its ID; the key is shown only once',
  options: {
    ...COMMON,
    name: {
      type: 'string',
      value: 'NAME',
      meaning: 'Name of the key, such as Production. Several keys can have the same name.',
      isRequired: true,
    },
    scope: { type: 'string', value: 'SCOPE', meaning: `One of ${scopeHelp}.`, default: 'standard' },
  },
  run: async (given, env) => {
    const reading = readKeyInput({ name: required(given, 'name'), scope: given.text('scope') ?? 'standard' })
    if ('errors' in reading)
      throw new UsageError(reading.errors.map(({ field, message }) => `--${field}: ${message}`).join(' '))
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      return expectDone(await createKey({ store, now: Date.now(), actor: 'cli' }, accountId, reading))
    })
  },
}

export const keyList: Command = {
  name: 'key list',
  summary: "lists each key's ID, name, last four characters and scope, never the whole key",
  options: COMMON,
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const keys = await store.listKeys(await findAccount(store, given))
      return keys.map((key) => ({
        keyId: key.id,
        name: key.name,
        ending: key.ending,
        scope: key.scope,
        createdAt: iso(key.createdAt),
        lastUsedAt: iso(key.lastUsedAt),
        revokedAt: iso(key.revokedAt),
        seenInBrowserAt: iso(key.seenInBrowserAt),
      }))
    }),
}

export const keyRevoke: Command = {
  name: 'key revoke',
  words: 'KEY_ID',
  summary: 'revokes a key; a running server refuses it within 2 seconds',
  options: { ...COMMON, ...ANY_ACCOUNT },
  run: async (given, env) => {
    const [keyId, ...more] = given.words
    if (keyId === undefined || more.length > 0) throw new UsageError('Specify one key: eventpost key revoke KEY_ID.')
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const { accountId, revokedAt } = await findKeyOf(store, given, keyId)
      const at = Date.now()
      if (revokedAt === null) expectDone(await store.revokeKey({ accountId, actor: 'cli', at, keyId }))
      return { keyId, revoked: true, revokedAt: toIso(revokedAt ?? at), wasRevokedBefore: revokedAt !== null }
    })
  },
}

async function findKeyOf(store: Store, given: Given, keyId: string) {
  for (const accountId of await listAccountIds(store, given)) {
    const key = (await store.listKeys(accountId)).find(({ id }) => id === keyId)
    if (key) return { accountId, revokedAt: key.revokedAt }
  }
  throw new CommandRefused(`There is no key with this ID${inAccount(given)}. List the keys with eventpost key list.`)
}

export const secretRotate: Command = {
  name: 'secret rotate',
  summary:
    'creates a new identity secret; the previous one works for 24 hours, or until it is revoked on the API keys page',
  options: COMMON,
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      const made = expectDone(await rotateIdentitySecret({ store, now: Date.now(), actor: 'cli' }, accountId))
      return { identitySecret: made.identitySecret, previousValidUntil: toIso(made.previousValidUntil) }
    }),
}
