import type { SnippetSettings } from '../store/snippet-types.ts'
import type { Store } from '../store/store.ts'
import type { KeyScope, NewApp, NewLink, Plan, Refused } from '../store/types.ts'
import { hashApiKey, makeApiKey } from './api-keys.ts'
import { randomBase62 } from './base62.ts'
import { makeIdentitySecret, PREVIOUS_SECRET_VALID_MS } from './identity.ts'
import { FIRST_MESSAGES } from './message-drafts.ts'
import { makeTextId } from './public-ids.ts'

export type { KeyScope, Plan }

type Maker = { store: Store; now: number; actor: string }

/** How long a printed link works. The set-up link is made anew at every start, so a day is plenty. */
const LINK_MS = 24 * 3_600_000

/** What someone must say to begin. `home` defaults to https and the first domain. */
export type Beginning = {
  email: string
  passwordHash: string | null
  appName: string
  domains: string[]
  home: string | null
}

/** What an account begins with: ids to copy, and two values that are shown once. */
export type Begun = {
  accountId: string
  appId: string
  siteId: string
  apiKey: string
  identitySecret: string
  /** sets the owner's password; null when one was given */
  passwordToken: string | null
}

/**
 * Makes an account with its owner, first app, first key and identity secret, in one commit (spec 2.1 to 2.3).
 * `onlyFirst` refuses where an account exists; `setupToken` is the printed link's.
 */
export async function createAccount(
  { store, now, actor }: Maker,
  beginning: Beginning,
  { onlyFirst, setupToken }: { onlyFirst: boolean; setupToken: string | null },
): Promise<Begun | Refused> {
  const accountId = makeTextId('acc', now)
  const app = newApp(beginning.appName, beginning.domains, beginning.home, now)
  const apiKey = makeApiKey()
  const identitySecret = makeIdentitySecret()
  const link = beginning.passwordHash === null ? makeLink('password', now) : null
  const outcome = await store.createAccount({
    id: accountId,
    name: beginning.appName,
    at: now,
    actor,
    onlyFirst,
    setupToken: setupToken === null ? null : hashToken(setupToken),
    member: { id: makeTextId('mem', now), email: beginning.email, passwordHash: beginning.passwordHash },
    passwordLink: link?.row ?? null,
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
    passwordToken: link?.token ?? null,
  }
}

type AppBeginning = { name: string; domains: string[]; home: string | null; snippet?: SnippetSettings }

/** A further app of an account. */
export async function createApp(
  { store, now, actor }: Maker,
  accountId: string,
  { name, domains, home, snippet }: AppBeginning,
): Promise<{ appId: string; siteId: string } | Refused> {
  const app = { ...newApp(name, domains, home, now), snippet }
  const outcome = await store.createApp({ accountId, actor, at: now, app })
  return 'refusal' in outcome ? outcome : { appId: app.publicId, siteId: app.siteId }
}

/** A further key; its text is returned here and stored nowhere (spec 2.2). */
export async function createKey(
  { store, now, actor }: Maker,
  accountId: string,
  { name, scope }: { name: string; scope: KeyScope },
): Promise<{ keyId: string; apiKey: string } | Refused> {
  const apiKey = makeApiKey()
  const key = newKey(name, scope, apiKey, now)
  const outcome = await store.createKey({ accountId, actor, at: now, key })
  return 'refusal' in outcome ? outcome : { keyId: key.id, apiKey }
}

/** A new identity secret; the one before keeps working for 24 hours (spec 3.3). */
export async function rotateIdentitySecret(
  { store, now, actor }: Maker,
  accountId: string,
): Promise<{ identitySecret: string; previousValidUntil: number } | Refused> {
  const secret = { id: makeTextId('sec', now), secret: makeIdentitySecret() }
  const outcome = await store.rotateSecret({ accountId, actor, at: now, secret })
  if ('refusal' in outcome) return outcome
  return { identitySecret: secret.secret, previousValidUntil: now + PREVIOUS_SECRET_VALID_MS }
}

/** Makes the set-up link's token; an earlier one stops working. */
export async function createSetupToken({ store, now }: Omit<Maker, 'actor'>): Promise<string> {
  const { token, row } = makeLink('setup', now)
  const outcome = await store.makeSetupLink({ link: row, at: now })
  if ('refusal' in outcome) throw new Error('the set-up link could not be saved')
  return token
}

/** Whether a one-time link can be used. */
export const hasLink = ({ store, now }: Omit<Maker, 'actor'>, purpose: NewLink['purpose'], token: string) =>
  store.hasLink(hashToken(token), purpose, now)

export const setPasswordByLink = ({ store, now }: Omit<Maker, 'actor'>, token: string, passwordHash: string) =>
  store.setPasswordByLink({ tokenHash: hashToken(token), passwordHash, at: now })

/** 256 bits and more, so a plain hash keeps it safe at rest. */
function makeLink(purpose: NewLink['purpose'], now: number): { token: string; row: NewLink } {
  const token = randomBase62(43)
  return { token, row: { tokenHash: hashToken(token), purpose, expiresAt: now + LINK_MS } }
}

const hashToken = (token: string): string => Bun.SHA256.hash(token, 'base64url')

const newApp = (name: string, hosts: string[], home: string | null, now: number): NewApp => ({
  publicId: makeTextId('app', now),
  siteId: makeTextId('site', now),
  name,
  homeUrl: home ?? (hosts[0] === undefined ? null : `https://${hosts[0]}`),
  hosts,
  messages: FIRST_MESSAGES,
})

const newKey = (name: string, scope: KeyScope, apiKey: string, now: number) => ({
  id: makeTextId('key', now),
  name,
  scope,
  keyHash: hashApiKey(apiKey),
})
