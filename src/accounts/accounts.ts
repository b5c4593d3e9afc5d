import { NO_ACCOUNT } from '../store/requests.ts'
import type { KeyRow, KeyScope, Plan, Refused, SnippetSettings } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import type { NewApp } from '../store/apps.ts'
import { endingOf, hashApiKey, makeApiKey } from './api-keys.ts'
import { makeIdentitySecret, PREVIOUS_SECRET_VALID_MS } from './identity.ts'
import { makeLink } from './members.ts'
import { FIRST_MESSAGES } from './first-messages.ts'
import { hashPassword, isPasswordOf } from './passwords.ts'
import { LOCALHOST } from '../core/domains.ts'
import { makeTextId } from '../core/ids.ts'
import { hashToken } from './tokens.ts'

export type { KeyRow, KeyScope, Plan }

type Maker = { store: Store; now: number; actor: string }

/** `passwordHash` comes from `provePassword` when the email may be known; null lets the owner join by a link. */
export type AccountInput = {
  email: string
  passwordHash: string | null
  name?: string | null
  appName: string
  domains: string[]
  home: string | null
}

export type CreatedAccount = {
  accountId: string
  appId: string
  siteId: string
  apiKey: string
  identitySecret: string
  inviteToken: string | null
}

/**
 * Creates an account with its owner, first app, key and identity secret in one commit. Refusals: already_set_up,
 * not_found, email_taken (known email, wrong password).
 */
export async function createAccount(
  { store, now, actor }: Maker,
  beginning: AccountInput,
  { onlyFirst, setupToken }: { onlyFirst: boolean; setupToken: string | null },
): Promise<CreatedAccount | Refused> {
  const accountId = makeTextId('acc', now)
  const app = newApp(beginning.appName, beginning.domains, beginning.home, now)
  const apiKey = makeApiKey()
  const identitySecret = makeIdentitySecret()
  const link = beginning.passwordHash === null ? makeLink('invite', now) : null
  const outcome = await store.createAccount({
    id: accountId,
    name: beginning.name ?? beginning.appName,
    at: now,
    actor,
    onlyFirst,
    setupToken: setupToken === null ? null : hashToken(setupToken),
    member: {
      id: makeTextId('mem', now),
      membershipId: makeTextId('mem', now),
      email: beginning.email,
      passwordHash: beginning.passwordHash,
    },
    inviteLink: link?.row ?? null,
    app,
    key: newKey('First key', 'standard', apiKey, now),
    secret: { id: makeTextId('sec', now), secret: identitySecret },
  })
  if ('refusal' in outcome) return outcome
  return {
    accountId,
    appId: app.publicId,
    siteId: app.siteId,
    apiKey,
    identitySecret,
    inviteToken: link?.token ?? null,
  }
}

/** Hashes an owner's password. A known person must give their current one, else email_taken. */
export async function provePassword(
  store: Store,
  email: string,
  password: string,
): Promise<{ hash: string } | Refused> {
  const known = await store.findMember(email)
  if (!known?.passwordHash) return { hash: await hashPassword(password) }
  const isTheirs = await isPasswordOf(known.passwordHash, password)
  return isTheirs ? { hash: known.passwordHash } : { refusal: 'email_taken' }
}

export const renameAccount = ({ store, now, actor }: Maker, accountId: string, name: string) =>
  store.renameAccount({ accountId, actor, at: now, name })

type AppBeginning = { name: string; domains: string[]; home: string | null; snippet?: SnippetSettings }

export async function createApp(
  { store, now, actor }: Maker,
  accountId: string,
  { name, domains, home, snippet }: AppBeginning,
): Promise<{ appId: string; siteId: string } | Refused> {
  const app = { ...newApp(name, domains, home, now), snippet }
  const outcome = await store.createApp({ accountId, actor, at: now, app })
  return 'refusal' in outcome ? outcome : { appId: app.publicId, siteId: app.siteId }
}

/** `form` is the random token of the form, so that a second submission is refused (already_done). */
export async function createKey(
  { store, now, actor }: Maker,
  accountId: string,
  { name, scope, form = null }: { name: string; scope: KeyScope; form?: string | null },
): Promise<{ keyId: string; apiKey: string } | Refused> {
  const apiKey = makeApiKey()
  const key = newKey(name, scope, apiKey, now)
  const outcome = await store.createKey({ accountId, actor, at: now, key, form })
  return 'refusal' in outcome ? outcome : { keyId: key.id, apiKey }
}

/**
 * The previous secret works for another 24 hours. `replaces` is the current one's id as the caller knew it;
 * already_done when it has been rotated since.
 */
export async function rotateIdentitySecret(
  { store, now, actor }: Maker,
  accountId: string,
  replaces: string | null = null,
): Promise<{ identitySecret: string; previousValidUntil: number } | Refused> {
  const secret = { id: makeTextId('sec', now), secret: makeIdentitySecret() }
  const outcome = await store.rotateSecret({ accountId, actor, at: now, secret, replaces })
  if ('refusal' in outcome) return outcome
  return { identitySecret: secret.secret, previousValidUntil: now + PREVIOUS_SECRET_VALID_MS }
}

export async function createSetupToken({ store, now }: Omit<Maker, 'actor'>): Promise<string> {
  const { token, row } = makeLink('setup', now)
  const outcome = await store.makeSetupLink({ link: row, at: now })
  if ('refusal' in outcome) throw new Error('the setup link could not be saved')
  return token
}

const newApp = (name: string, hosts: string[], home: string | null, now: number): NewApp => ({
  publicId: makeTextId('app', now),
  siteId: makeTextId('site', now),
  name,
  homeUrl: home ?? (hosts[0] === undefined ? null : `${hosts[0] === LOCALHOST ? 'http' : 'https'}://${hosts[0]}`),
  hosts,
  messages: FIRST_MESSAGES,
})

const newKey = (name: string, scope: KeyScope, apiKey: string, now: number) => ({
  id: makeTextId('key', now),
  name,
  scope,
  keyHash: hashApiKey(apiKey),
  ending: endingOf(apiKey),
})

/** With several accounts, nobody sees calls without a valid key: they could be of any. */
export const listShownAccounts = async (store: Pick<Store, 'listAccounts'>, accountId: string): Promise<string[]> =>
  (await store.listAccounts()).length === 1 ? [accountId, NO_ACCOUNT] : [accountId]
