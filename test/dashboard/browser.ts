/** A browser with cookies and forms, and members who use it. */
import type { AppRow } from '../../src/accounts/access.ts'
import { createAccount } from '../../src/accounts/accounts.ts'
import { acceptInvitation, inviteMember, type Role, setPasswordByLink } from '../../src/accounts/members.ts'
import { createSessions } from '../../src/accounts/sessions.ts'
import { createSignIns } from '../../src/accounts/sign-ins.ts'
import { startSession } from '../../src/dashboard/access/session-start.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { setFacts } from '../../src/http/request-facts.ts'
import { createBeginnings, openTestStore } from '../data-folder.ts'
import { attributesOf, NOW, openBegun, openPages, type Pages, SAME_ORIGIN } from './pages.ts'

export const PASSWORD = 'correct horse battery'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

/** A cheap hash; the real one is slow on purpose. */
export const passwordHash = Bun.password.hash(PASSWORD, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })

export type Seen = { status: number; html: string; location: string | null; headers: Headers }
export type Browser = ReturnType<typeof createBrowser>

/** Stores cookies; follows no redirects. */
export function createBrowser(pages: Pages, { agent = FIREFOX, address = '127.0.0.1' } = {}) {
  const cookies = new Map<string, string>()
  const storeCookies = (lines: string[]): void => {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
  }
  const send = async (path: string, init: RequestInit): Promise<Seen> => {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const headers = { 'User-Agent': agent, Cookie: cookie, ...(init.headers as Record<string, string>) }
    const response = await pages.handle(path, { ...init, headers }, address)
    storeCookies(response.headers.getSetCookie())
    const location = response.headers.get('location')
    return { status: response.status, html: await response.text(), location, headers: response.headers }
  }
  const get = (path: string) => send(path, {})
  return {
    cookies,
    get,
    /** Starts the session that the form of the sign-in page leads to, for a third of its time. Null: a second step is asked. */
    async startSession(email: string): Promise<object | null> {
      const member = await pages.store.findMember(email)
      if (!member?.passwordHash) throw new Error(`${email} has no password`)
      const request = new Request(pages.baseUrl, { headers: { 'User-Agent': agent } })
      setFacts(request, { requestId: 'req_1', address: () => address })
      const deps = { ...pages.parts, sessions: createSessions(pages), signIns: createSignIns(pages) }
      const started = await startSession(deps, request, { member, passwordHash: member.passwordHash })
      storeCookies(started?.cookies ?? [])
      return started
    },
    /** Opens a one-time link at its URL without the token. */
    async openLink(path: string): Promise<Seen> {
      const { status, location } = await get(path)
      if (status !== 303 || location !== path.split('?')[0]) throw new Error(`a link led to ${location}`)
      return get(location)
    },
    post: (path: string, fields: Record<string, string> = {}, headers: Record<string, string> = SAME_ORIGIN) =>
      send(path, { method: 'POST', headers, body: new URLSearchParams(fields) }),
    upload: (path: string, body: FormData) => send(path, { method: 'POST', headers: SAME_ORIGIN, body }),
    /** Posts a form with the hidden fields that its page shows. */
    async submit(page: string, action: string, fields: Record<string, string> = {}): Promise<Seen> {
      const hidden = await hiddenFieldsOf((await get(page)).html, `form[action="${action}"]`)
      return send(action, { method: 'POST', headers: SAME_ORIGIN, body: new URLSearchParams({ ...hidden, ...fields }) })
    },
    signIn: (email: string, password = PASSWORD, next = '/') =>
      send('/sign-in', { method: 'POST', headers: SAME_ORIGIN, body: new URLSearchParams({ email, password, next }) }),
  }
}

export async function hiddenFieldsOf(html: string, within = 'main'): Promise<Record<string, string>> {
  const [names, values] = await Promise.all(
    ['name', 'value'].map((attribute) => attributesOf(html, `${within} input[type=hidden]`, attribute)),
  )
  return Object.fromEntries((names ?? []).map((name, index) => [name ?? '', values?.[index] ?? '']))
}

type Maker = Parameters<typeof createAccount>[0]

async function addAccount(maker: Maker, email: string, appName: string) {
  const beginning = { email, passwordHash: await passwordHash, appName, domains: ['app.example.com'], home: null }
  const begun = await createAccount(maker, beginning, { onlyFirst: false, setupToken: null })
  if ('refusal' in begun) throw new Error(begun.refusal)
  return begun
}

const OWNER = 'ada@example.com'

const begin = createBeginnings(async (folder) => {
  const store = await openTestStore(folder, { now: () => NOW, rules: STORE_RULES })
  const begun = await addAccount({ store, now: NOW, actor: 'test' }, OWNER, 'Engine')
  await store.close()
  return begun
})

/** Pages of an account whose owner is ada@example.com. */
export async function openAccount({
  appName,
  ...options
}: Parameters<typeof openPages>[0] & { appName?: string } = {}) {
  const made =
    appName === undefined ? await openBegun(begin, options) : { pages: await openPages(options), begun: null }
  const { pages } = made
  const maker = () => ({ store: pages.store, now: pages.clock.now(), actor: 'test' })
  const hash = await passwordHash
  const begun = made.begun ?? (await addAccount(maker(), OWNER, appName ?? ''))
  return {
    ...pages,
    begun,
    addAccount: (email: string, name: string) => addAccount(maker(), email, name),
    /** A path of the account's first app. */
    at: (page: string) => `/apps/${begun.appId}/${page}`,
    /** A member who accepted; with the shared password unless they have one. */
    async addMember(email: string, role: Role, accountId = begun.accountId): Promise<void> {
      const invited = await inviteMember(maker(), accountId, { email, role })
      if ('refusal' in invited) throw new Error(invited.refusal)
      const { inviteToken: token } = invited
      const known = await pages.store.findMember(email)
      if (known?.passwordHash)
        await acceptInvitation(maker(), token, { memberId: known.id, passwordHash: known.passwordHash })
      else await setPasswordByLink(maker(), token, hash)
    },
    /** A signed-in browser. */
    async signedIn(email = 'ada@example.com', options: Parameters<typeof createBrowser>[1] = {}): Promise<Browser> {
      const browser = createBrowser(pages, options)
      if (await browser.startSession(email)) return browser
      const { status } = await browser.signIn(email)
      if (status !== 303) throw new Error(`signing in answered ${status}`)
      return browser
    },
  }
}

export type AccountPages = Awaited<ReturnType<typeof openAccount>>

/** A member's app; the first by default. */
export async function appOf(pages: AccountPages, accountId = pages.begun.accountId): Promise<AppRow> {
  const [app] = await pages.store.listApps(accountId)
  if (!app) throw new Error('no app')
  return app
}
