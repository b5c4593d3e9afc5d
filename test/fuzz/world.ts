/** A whole server with hostile data in it, and browsers of every role that are signed in. */
import { createSetupToken } from '../../src/accounts/accounts.ts'
import { inviteMember, resetPassword, type Role, setPasswordByLink } from '../../src/accounts/members.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import type { Sender } from '../../src/mail/sender.ts'
import { addPerson, appOf, page, report, send, track } from '../api/reports.ts'
import { passwordHash, PASSWORD } from '../dashboard/browser.ts'
import { BASE_URL, createTestServer, EVENTS, type Options, type TestServer } from '../helper.ts'
import { HOSTILE, INHERITED, MARKUP } from './hostile.ts'
import { fillAccount, openRows } from './two-accounts.ts'

export type Who = Role | 'stranger' | 'nobody'
export const EVERYBODY: readonly Who[] = ['owner', 'editor', 'viewer', 'stranger', 'nobody']

export { PASSWORD }

/** As long as each may be, and without a place to break. */
export const LONG = {
  email: `${'l'.repeat(64)}@${'sub'.repeat(20)}.${'sub.'.repeat(20)}example`,
  event: 'x'.repeat(64),
  properties: { ['k'.repeat(200)]: 'v'.repeat(600), nested: { deep: ['y'.repeat(300)] } },
}

export type World = Awaited<ReturnType<typeof openWorld>>

export async function openWorld(options: Options = {}) {
  const server = await createTestServer(options)
  await fill(server)
  return openBrowsers(server)
}

/** As `openWorld`, and the second account holds as much, with a mark in all of its texts. */
export async function openTwoWorlds() {
  const server = await createTestServer()
  await fill(server)
  const { ids } = await fillAccount(server, 'second')
  const rows = await openRows(server)
  return { ...(await openBrowsers(server)), ids, readSecond: rows.readSecond, closeRows: rows.close }
}

async function openBrowsers(server: TestServer) {
  const emails = await addMembers(server)
  const jars = new Map<Who, Map<string, string>>(EVERYBODY.map((who) => [who, new Map<string, string>()]))

  /** Sends what a browser of `who` would send, and keeps the cookies of the answer. */
  const browse = async (who: Who, path: string, init: RequestInit = {}): Promise<Response> => {
    const jar = jars.get(who) ?? new Map<string, string>()
    const headers = new Headers({ Accept: 'text/html', 'Sec-Fetch-Site': 'same-origin' })
    if (jar.size > 0) headers.set('Cookie', Array.from(jar, ([name, value]) => `${name}=${value}`).join('; '))
    new Headers(init.headers).forEach((value, name) => headers.set(name, value))
    const request = new Request(BASE_URL + path, { redirect: 'manual', ...init, headers })
    const response = await server.send(request, `192.0.2.${EVERYBODY.indexOf(who) + 1}`)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0\b/.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  const signIn = async (who: Who): Promise<boolean> => {
    const email = emails.get(who)
    if (email === undefined) return true
    jars.get(who)?.clear()
    const body = new URLSearchParams({ email, password: PASSWORD, next: '/' })
    return (await browse(who, '/sign-in', { method: 'POST', body })).status === 303
  }
  for (const who of EVERYBODY) if (!(await signIn(who))) throw new Error(`${who} cannot sign in`)

  return {
    server,
    tokens: await makeTokens(server),
    browse,
    signIn,
    /** Whether a browser still sees the pages of its app. */
    async isSignedIn(who: Who): Promise<boolean> {
      const account = who === 'stranger' ? server.second : server.first
      return who === 'nobody' || (await browse(who, `/apps/${account.appId}/activation`)).status === 200
    },
    close: () => server.close(),
  }
}

async function addMembers(server: TestServer): Promise<Map<Who, string>> {
  const { store } = server.parts()
  const maker = { store, now: server.clock.now(), actor: 'test' }
  const hash = await passwordHash
  await setPasswordByLink(maker, server.first.inviteToken ?? '', hash)
  await setPasswordByLink(maker, server.second.inviteToken ?? '', hash)
  const emails = new Map<Who, string>([
    ['owner', 'first@owner.example'],
    ['stranger', 'second@owner.example'],
  ])
  for (const role of ['editor', 'viewer'] as const) {
    const email = `${role}@member.example`
    const invited = await inviteMember(maker, server.first.accountId, { email, role })
    if ('refusal' in invited) throw new Error(invited.refusal)
    await setPasswordByLink(maker, invited.inviteToken, hash)
    emails.set(role, email)
  }
  return emails
}

/** Of links that work once: to join, to choose a new password, and one for a server that is not set up. */
async function makeTokens(server: TestServer): Promise<string[]> {
  const maker = { store: server.parts().store, now: server.clock.now(), actor: 'test' }
  const { accountId } = server.first
  const tokens = [await createSetupToken(maker)]
  for (const email of ['new@member.example', 'second@owner.example']) {
    const invited = await inviteMember(maker, accountId, { email, role: 'viewer' })
    if (!('refusal' in invited)) tokens.push(invited.inviteToken)
  }
  const reset = await resetPassword(maker, { email: 'viewer@member.example', accountId: null })
  return 'refusal' in reset ? tokens : [...tokens, reset.passwordToken]
}

/** What the API, the script, an editor and a mail server can bring in. */
async function fill(server: TestServer): Promise<void> {
  for (const [index, text] of HOSTILE.entries()) await addHostilePerson(server, index, text)
  for (const name of INHERITED) {
    const email = 'ada@example.com'
    await expectTaken(server, EVENTS, { app: server.first.appId, email, event: name, createContact: true })
    const events = [page(`/${name}`), track(name, `/${MARKUP.replaceAll(/[\r\n]/g, '')}`)]
    const reported = await send(server, report(server.first, { events }))
    if (reported.status !== 202) throw new Error(reported.text)
  }
  await saveMessages(server)
  for (const [index, text] of HOSTILE.slice(0, 30).entries()) {
    const properties = { headline: text, url: 'https://first.example/1', deep: { [text]: [text, { a: null }] } }
    await expectTaken(server, EVENTS, {
      app: server.first.appId,
      email: `person${index}@example.com`,
      event: 'results_ready',
      properties,
    })
  }
  await addLongPerson(server)
  server.clock.tick(60_000)
  await (server.sender() as Sender).sendDue()
  await addPerson(server, 'foreign@example.com', server.second)
}

async function addHostilePerson(server: TestServer, index: number, text: string): Promise<void> {
  const plain = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}]/gu, '')
    .trim()
  const name = plain === '' ? undefined : plain.slice(0, 200)
  const tag = plain === '' ? 'tag' : Array.from(plain).slice(0, 64).join('')
  const key = text.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64) || 'key'
  await expectTaken(server, '/api/v1/contacts', {
    newsletter: server.first.appId,
    email: `person${index}@example.com`,
    firstName: name,
    lastName: name,
    tags: [tag],
    fields: Object.fromEntries([[key, plain.slice(0, 1_000)]]),
    source: tag,
  })
  await expectTaken(server, EVENTS, {
    app: server.first.appId,
    email: `person${index}@example.com`,
    event: 'hostile',
    properties: Object.fromEntries([
      [text.toWellFormed().slice(0, 200), plain.slice(0, 500)],
      ['nested', [[{ [key]: null }], 1e21, -0, true]],
    ]),
  })
}

/** Last, so that it is on the first page of every list. */
const addLongPerson = async (server: TestServer): Promise<void> => {
  const { email, event, properties } = LONG
  const person = {
    firstName: 'f'.repeat(200),
    lastName: 'l'.repeat(200),
    tags: ['t'.repeat(64)],
    source: 's'.repeat(64),
  }
  const fields = { ['k'.repeat(64)]: 'v'.repeat(1_000) }
  await expectTaken(server, '/api/v1/contacts', { newsletter: server.first.appId, email, ...person, fields })
  await expectTaken(server, EVENTS, { app: server.first.appId, email, event: 'results_ready', properties })
  await expectTaken(server, EVENTS, { app: server.first.appId, email, event, properties })
}

async function expectTaken(server: TestServer, path: string, body: object): Promise<void> {
  const answer = await server.call('POST', path, { body })
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
}

const MAIL = {
  subject: '{{ event.headline | default: "Hello" }}',
  body: 'Hello {{ contact.firstName | default: "you" }}',
}

/** Live ones that start with what is stored above, and drafts that nobody could send. */
async function saveMessages(server: TestServer): Promise<void> {
  const { store } = server.parts()
  const app = await appOf(server)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  const live: [string, MessageContent][] = [
    [MARKUP, { trigger: { event: 'results_ready' }, mail: MAIL }],
    ['constructor', { trigger: { event: 'results_ready' }, mail: { subject: 'Ready', body: '{{ event.headline }}' } }],
    [
      '__proto__',
      {
        trigger: { event: 'results_ready' },
        onlyIf: [{ rule: 'field', field: 'constructor', is: 'present' }],
        mail: { subject: MARKUP, body: `# ${MARKUP}\n\n[x](javascript:alert(1)) {{ event.url }}` },
      },
    ],
    ['x'.repeat(80), { trigger: { tag: 'constructor' }, wait: { minutes: 60 }, mail: MAIL }],
  ]
  const drafts = INHERITED.map((name): [string, MessageContent] => [
    `Draft ${name}`,
    {
      trigger: { event: name },
      mail: { subject: `{{ event.${name} }}`, body: `{{ contact.fields.${name} }} {{ ${name} }}` },
    },
  ])
  const rows = [
    ...live.map(([name, content]) => ({ id: null, name, content, status: 'live' as const })),
    ...drafts.map(([name, content]) => ({ id: null, name, content, status: 'draft' as const })),
  ]
  const saved = await store.saveMessages({ ...by, drafts: rows })
  if ('refusal' in saved) throw new Error(saved.refusal)
}
