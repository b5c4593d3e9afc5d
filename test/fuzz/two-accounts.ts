/** A server with two accounts that hold the same kinds of things. The second account has a mark in all of its texts. */
import { generateKeyPairSync } from 'node:crypto'
import { makeHookToken, topicTokenOf, writeHookSecret, HOOK_PROVIDERS } from '../../src/accounts/hook-secrets.ts'
import { findAppSettings, saveAppSettings } from '../../src/accounts/app-settings.ts'
import { makeConfirmToken } from '../../src/people/consent.ts'
import { makeUnsubscribeToken } from '../../src/people/unsubscribe.ts'
import type { Sender } from '../../src/mail/sender.ts'
import type { Sql } from '../../src/store/engine/sql.ts'
import { openForReadingAt } from '../../src/store/open.ts'
import { isRefusal } from '../../src/core/refusals.ts'
import { publicId, readPublicId } from '../../src/core/ids.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { appOf, page, report, send, track } from '../api/reports.ts'
import { locationOf } from '../data-folder.ts'
import { type Account, API, createTestServer, DAY, NOW, type TestServer } from '../helper.ts'
import { joinFirst } from '../mcp/client.ts'
import { createSnsStandIn, FOREIGN_TOPIC, TOPIC } from '../mail/sns.ts'
import { makeSigningSecret } from '../mail/webhooks.ts'

/** In every text of the second account, and nowhere else. */
export const MARK = 'zqxmark'
/** Both accounts know Bea; only the second one knows Cee; nobody knows Dee. */
export const PEOPLE = { both: 'bea@example.com', second: 'cee@example.com', nobody: 'dee@example.com' }

export type TwoAccounts = Awaited<ReturnType<typeof openTwoAccounts>>

export async function openTwoAccounts() {
  const sns = createSnsStandIn(NOW)
  const server = await createTestServer({ fetchSns: sns.fetch })
  const [first, second] = [await fillAccount(server, 'first'), await fillAccount(server, 'second')]
  const names = new Map<string, readonly string[]>()
  for (const [who, { ids }] of Object.entries({ first, second }))
    for (const [name, values] of Object.entries(ids)) names.set(`${who}.${name}`, values)
  for (const name of ID_NAMES) names.set(`none.${name}`, second.ids[name].map(unknownLike))
  names.set('second.email', [PEOPLE.second])
  names.set('none.email', [PEOPLE.nobody])
  names.set('second.name', [UNMARKED])
  names.set('none.name', ['Monthly digest'])
  // only members who joined get test emails
  await joinFirst(server)
  const revoked = await server.makeKey('manage')
  await server.revokeKey(revoked.keyId)
  const keys = new Map<string, string>([
    ['standard', server.first.apiKey],
    ['manage', first.key],
    ['ingest', (await server.makeKey('ingest')).apiKey],
    ['revoked', revoked.apiKey],
  ])
  const rows = await openRows(server)
  return {
    server,
    keys,
    names,
    secrets: [...first.secrets, ...second.secrets, ...keys.values()],
    sns,
    /** with which webhooks to the first account are signed */
    signing: first.signing,
    readSecond: rows.readSecond,
    async close(): Promise<void> {
      await rows.close()
      await server.close()
    },
  }
}

/** All rows of the second account. */
export async function openRows(server: TestServer) {
  const { accountId, id: appId } = await appOf(server, server.second)
  const { sql, close } = openForReadingAt(locationOf(server.folder))
  const reads = await prepareReads(sql, { accountId, appId })
  return { readSecond: () => readRows(reads), close }
}

const ID_NAMES = ['app', 'site', 'message', 'delivery', 'contact', 'key'] as const

/** A plan without limits, people, messages, emails and settings. */
export async function fillAccount(server: TestServer, who: 'first' | 'second') {
  const account = server[who]
  const rates = { eventsPerHour: null, addsPerHour: null, updatesPerHour: null, mcpCallsPerMinute: 1_000_000 }
  await server.setPlan({ ...rates, snippetLimits: false }, account)
  const { apiKey: key } = await server.makeKey('manage', account)
  const signing = makeSigning()
  const { sendgrid, ...secrets } = signing
  const own = {
    ...secrets,
    sendgrid: sendgrid.publicKey,
    postmark: makeHookToken(),
    brevo: makeHookToken(),
    ses: who === 'first' ? TOPIC : FOREIGN_TOPIC,
  }
  await fill(server, account, { mark: who === 'first' ? 'first' : MARK, key, own })
  const { postmark, brevo, resend, mailgun, bounces } = own
  return {
    key,
    signing,
    secrets: [account.apiKey, account.identitySecret, key, postmark, brevo, resend, mailgun, bounces],
    ids: await listIds(server, account, own),
  }
}

function makeSigning() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const sendgrid = { privateKey, publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64') }
  return { bounces: makeHookToken(), resend: makeSigningSecret(), mailgun: makeHookToken(), sendgrid }
}

/** An ID of the same shape that nobody has. */
export function unknownLike(id: string): string {
  const [kind = '', text = ''] = id.split('_')
  if (kind === 'app' || kind === 'site') return `${kind}_${text.replaceAll(/./g, 'z')}`
  if (kind === 'msg' || kind === 'dlv' || kind === 'con')
    return publicId(kind, (readPublicId(kind, id) ?? 0) + 1_000_000)
  return id.replace(/.{4}$/, 'zzzz')
}

type Own = Record<(typeof HOOK_PROVIDERS)[number] | 'bounces', string>

async function fill(
  server: TestServer,
  account: Account,
  { mark, key, own }: { mark: string; key: string; own: Own },
): Promise<void> {
  const { store, access } = server.parts()
  const app = await appOf(server, account)
  const by = { appId: app.id, accountId: app.accountId, actor: 'test', at: server.clock.now() }
  const before = await findAppSettings(store, app)
  const settings = { ...before, name: mark }
  const saved = await saveAppSettings({ store, access, clock: server.clock }, app, {
    settings,
    basedOn: before,
    actor: 'test',
  })
  if (isRefusal(saved) || 'errors' in saved) throw new Error(JSON.stringify(saved))
  let hookSecrets: string | null = null
  for (const provider of HOOK_PROVIDERS) hookSecrets = writeHookSecret({ hookSecrets }, provider, own[provider])
  const named = { fromName: mark, postalAddress: `${mark} Street 1`, bounceSecret: own.bounces, hookSecrets }
  await store.setMailSettings({ ...by, settings: named })
  const take = async (path: string, body: object): Promise<void> => {
    const answer = await server.call('POST', API + path, { body: { app: account.appId, ...body }, key })
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
  }
  for (const [name, content] of messagesOf(mark)) {
    const status = name.includes('draft') ? 'draft' : 'live'
    const done = await store.saveMessages({ ...by, drafts: [{ id: null, name, content, status }] })
    if (isRefusal(done)) throw new Error(done.refusal)
  }
  const others = mark === MARK ? [PEOPLE.second] : ['abe@example.com', 'ann@example.com']
  for (const email of [PEOPLE.both, ...others]) {
    const person = { firstName: `${mark} first`, lastName: `${mark} last`, source: `${mark} source` }
    await take('/contacts', { email, ...person, tags: [`${mark} tag`], fields: { [`${mark}_field`]: `${mark} value` } })
    const properties = { headline: `${mark} headline`, [`${mark} property`]: `${mark} value` }
    for (const event of ['results_ready', 'later', `${mark}_event`]) await take('/events', { email, event, properties })
    await take('/send', { email, subject: `${mark} subject`, body: `${mark} body` })
    const events = [page(`/${mark}`), track(`${mark}_action`, `/${mark}`)]
    await send(server, report(account, { email, events, id: `${mark}.${email}` }), {
      headers: { Origin: `https://app.${mark === MARK ? 'second' : 'first'}.example` },
    })
  }
  const blocked = { email: `blocked@example.com`, kind: 'bounced' as const, reason: mark }
  await store.reportAddress({ appId: app.id, ...blocked, at: server.clock.now() })
  await (server.sender() as Sender).sendDue()
}

/** A message that only the second account has, with a name that a request can send. */
const UNMARKED = 'Weekly digest'
const DUE_IN_DAYS = 30

function messagesOf(mark: string): (readonly [string, MessageContent])[] {
  const mail = { subject: `${mark} {{ event.headline | default: "subject" }}`, body: `${mark} body` }
  return [
    [`${mark} now`, { trigger: { event: 'results_ready' }, mail }],
    [`${mark} later`, { trigger: { event: 'later' }, wait: { minutes: DUE_IN_DAYS * 24 * 60 }, mail }],
    [
      `${mark} draft`,
      { trigger: { tag: `${mark} tag` }, onlyIf: [{ rule: 'field', field: `${mark}_field`, is: 'present' }], mail },
    ],
    ...(mark === MARK
      ? [[UNMARKED, { trigger: { api: 'send' }, mail: { ...mail, category: 'transactional' } }] as const]
      : []),
    [`${mark} send`, { trigger: { api: 'send' }, mail: { ...mail, category: 'transactional' } }],
  ]
}

async function listIds(server: TestServer, account: Account, own: Own) {
  const { store, unsubscribeKey } = server.parts()
  const app = await appOf(server, account)
  const messages = await store.listMessages(app.id)
  const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 50 }
  const deliveries = await store.listDeliveries(query)
  const contactIds = [...new Set(deliveries.map(({ contactId }) => contactId))]
  const links = contactIds.map((contactId) => makeUnsubscribeToken(unsubscribeKey, { contactId, topicId: null }))
  const expiresAt = server.clock.now() + DAY
  return {
    app: [account.appId],
    site: [account.siteId],
    key: [account.keyId],
    message: messages.map(({ id }) => publicId('msg', id)),
    delivery: deliveries.map(({ id }) => publicId('dlv', id)),
    contact: contactIds.map((id) => publicId('con', id)),
    link: links,
    confirm: [makeConfirmToken(unsubscribeKey, { consentId: 1, expiresAt })],
    hook: [own.postmark, own.brevo, topicTokenOf(server.parts().previewKey, account.appId)],
    basedOn: messages.map(({ updatedAt }) => new Date(updatedAt).toISOString()),
    name: messages.map(({ name }) => name),
  }
}

type Owner = { accountId: string; appId: number }

/** Whose rows these are, by the first of these columns that a table has. */
const OWNERS: readonly [column: string, isOwn: string, owner: keyof Owner][] = [
  ['account_id', '= ?', 'accountId'],
  ['app_id', '= ?', 'appId'],
  ['contact_id', 'IN (SELECT id FROM contacts WHERE app_id = ?)', 'appId'],
  ['message_id', 'IN (SELECT id FROM messages WHERE app_id = ?)', 'appId'],
  ['delivery_id', 'IN (SELECT id FROM deliveries WHERE app_id = ?)', 'appId'],
  ['key_id', 'IN (SELECT id FROM api_keys WHERE account_id = ?)', 'accountId'],
  ['name_id', 'IN (SELECT id FROM event_names WHERE app_id = ?)', 'appId'],
  ['member_id', 'IN (SELECT member_id FROM memberships WHERE account_id = ?)', 'accountId'],
]
/**
 * Everybody may send to a site or a webhook, which is noted: scripts that were loaded, and reports that were refused. The
 * store fills the timeline later.
 */
const PASSED_OVER = new Set(['requests', 'request_callers', 'activation_notes', 'timeline', 'timeline_run_rows'])

const COLUMNS = {
  sqlite: `SELECT tables.name AS "table", columns.name AS "column"
    FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND tables.schema = 'main'`,
  postgres: `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
    WHERE table_schema = 'public'`,
}

type Reads = Map<string, () => Promise<unknown[]>>

async function prepareReads(sql: Sql, owner: Owner): Promise<Reads> {
  const found = await sql.prepare<{ table: string; column: string }>(COLUMNS[sql.dialect.engine]).all()
  const reads: Reads = new Map()
  const add = (table: string, where: string, value: string | number): void => {
    const read = sql.prepare(`SELECT * FROM "${table}" WHERE ${where}`)
    reads.set(table, async () => await read.all(value))
  }
  for (const [table, columns] of Map.groupBy(found, (one) => one.table)) {
    const [column, isOwn, owned] = OWNERS.find(([name]) => columns.some((one) => one.column === name)) ?? []
    if (owned && !PASSED_OVER.has(table)) add(table, `"${column}" ${isOwn}`, owner[owned])
  }
  add('accounts', 'id = ?', owner.accountId)
  return reads
}

async function readRows(reads: Reads): Promise<Map<string, string>> {
  const rows = new Map<string, string>()
  for (const [table, read] of reads) {
    const texts = (await read()).map((row) => JSON.stringify(row))
    rows.set(table, texts.toSorted().join('\n'))
  }
  return rows
}
