import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { createKey } from '../../../src/accounts/accounts.ts'
import { SIGN_INS_KEPT_MS } from '../../../src/accounts/account-rules.ts'
import { describeAction } from '../../../src/dashboard/access/audit-labels.ts'
import { codeAt, turnOn } from './authenticator.ts'
import { type AccountPages, type Browser, createBrowser, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let owner: Browser
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
})
afterEach(() => pages.close())

const cellsOf = async (html: string, column: number) =>
  (await textOf(html, `[aria-label="Audit log"] td:nth-child(${column})`)).map((text) => text.trim())

async function rowsOf(query = '', browser = owner): Promise<string[][]> {
  const { html } = await browser.get(`${pages.at('audit')}${query}`)
  const [who, what, address] = await Promise.all([2, 3, 4].map((column) => cellsOf(html, column)))
  return (who ?? []).map((one, row) => [one, what?.[row] ?? '', address?.[row] ?? ''])
}

test('entries of the same millisecond are in their order, the newest first', async () => {
  const { accountId } = await pages.addAccount('eve@example.com', 'Other')
  await pages.store.renameAccount({ accountId, actor: 'test', at: pages.clock.now(), name: 'Another' })
  const entries = await pages.store.listAudit({ accountId, kind: 'changes', before: null, limit: 50 })
  expect(entries.map(({ action }) => action)).toEqual([
    'account.rename',
    'key.create',
    'message.save',
    'message.save',
    'app.create',
    'account.create',
  ])
  expect(new Set(entries.map(({ createdAt }) => createdAt)).size).toBe(1)
})

const HASH = expect.stringMatching(/^[0-9a-f]{16}$/)

describe('sign-ins', () => {
  test('are shown to owners with a keyed hash of the address', async () => {
    pages.clock.ms += 1_000
    await createBrowser(pages, { address: '10.0.0.7' }).signIn('ada@example.com', 'wrong')
    pages.clock.ms += 1_000
    await createBrowser(pages, { address: '10.0.0.7' }).signIn('ada@example.com', 'wrong again')
    pages.clock.ms += 1_000
    await (await pages.signedIn('ada@example.com', { address: '10.0.0.8' })).post('/sign-out')
    const rows = await rowsOf('?kind=sign_ins')
    expect(rows).toEqual([
      ['ada@example.com', 'signed in', HASH],
      ['Someone', 'entered a wrong password for ada@example.com (2 times)', HASH],
      ['ada@example.com', 'signed in', HASH],
    ])
    expect(new Set(rows.map(([, , address]) => address)).size).toBe(3)
    expect((await owner.get(pages.at('audit'))).html).not.toContain('10.0.0')
    expect((await rowsOf('?kind=changes')).map(([, what]) => what)).toContain('signed out')
  })

  test('show the second step and failures', async () => {
    const { secret, codes } = await turnOn(pages, owner)
    const asked = createBrowser(pages, { address: '10.0.0.9' })
    await asked.signIn('ada@example.com')
    await asked.post('/sign-in/code', { code: '000000' })
    await asked.post('/sign-in/code', {
      recoveryCode: codes[0]?.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')) ?? '',
    })
    await asked.post('/sign-in/code', { code: codeAt(secret, pages.clock.ms) })
    const words = (await rowsOf()).map(([, what]) => what)
    expect(words).toContain('entered a wrong code for ada@example.com')
    expect(words).toContain('entered a wrong recovery code for ada@example.com')
    expect(words).toContain('turned on two-step sign-in')
  })

  test('are limited to 20 entries per member in ten minutes', async () => {
    spyOn(Bun.password, 'verify').mockResolvedValue(false)
    for (let i = 0; i < 300; i++) await createBrowser(pages, { address: `10.1.${i}.1` }).signIn('ada@example.com', 'x')
    spyOn(Bun.password, 'verify').mockRestore()
    await pages.signInNotes.save()
    for (let i = 0; i < 30; i++) await createBrowser(pages, { address: `10.2.${i}.1` }).signIn('ada@example.com', 'x')
    await pages.signInNotes.save()
    const counts = () =>
      withSql(pages.folder, async (sql) => {
        const text = `SELECT count FROM audit_entries WHERE action LIKE 'sign_in.%'`
        return await sql.prepare<{ count: number }>(text).all()
      })
    expect((await counts()).length).toBeLessThanOrEqual(22)
    expect((await counts()).reduce((sum, { count }) => sum + count, 0)).toBe(300)
    pages.clock.ms += 600_000
    await pages.signInNotes.save()
    expect((await counts()).reduce((sum, { count }) => sum + count, 0)).toBe(330)
    const { html } = await owner.get(`${pages.at('audit')}?kind=sign_ins`)
    const [older] = await attributesOf(html, '.pager [rel=next]', 'href')
    const rows = [...(await rowsOf('?kind=sign_ins')), ...(await rowsOf(`?${older?.split('?')[1] ?? ''}`))]
    expect(rows.some(([, , address]) => address === 'several')).toBe(true)
  })

  test('are retried when the disk is full', async () => {
    const full = spyOn(pages.store, 'noteFailedSignIns').mockResolvedValue({ refusal: 'unavailable' })
    await createBrowser(pages).signIn('ada@example.com', 'wrong')
    await pages.signInNotes.save()
    full.mockRestore()
    expect((await rowsOf('?kind=sign_ins')).map(([, what]) => what)).toContain(
      'entered a wrong password for ada@example.com',
    )
  })

  test('are deleted after 400 days, and changes stay', async () => {
    await pages.store.renameAccount({ accountId: pages.begun.accountId, actor: 'cli', at: pages.clock.ms, name: 'New' })
    pages.clock.ms += SIGN_INS_KEPT_MS + 1
    let deleted = 1
    while (deleted > 0) {
      const outcome = await pages.store.cleanUp({ at: pages.clock.ms })
      deleted = 'deleted' in outcome ? outcome.deleted : 0
    }
    owner = await pages.signedIn()
    expect(await rowsOf('?kind=sign_ins')).toHaveLength(1)
    expect((await rowsOf('?kind=changes')).map(([, what]) => what)).toContain('renamed the account')
  })
})

describe('the page', () => {
  test('keeps the old name of a message in older rows, and shows the change of the name', async () => {
    const app = await pages.store.findAppByPublicId(pages.begun.appId)
    if (!app) throw new Error('no app')
    const [old] = await pages.store.listMessages(app.id)
    if (!old) throw new Error('no message')
    const by = { accountId: pages.begun.accountId, appId: app.id, actor: 'cli', at: pages.clock.ms + 1 }
    await pages.store.saveMessages({
      ...by,
      drafts: [{ id: old.id, name: HOSTILE, content: old.content, status: null }],
    })
    await pages.store.setMessageStatus({ ...by, at: by.at + 1, id: old.id, status: 'paused' })
    const { html } = await owner.get(pages.at('audit'))
    await expectHarmless(html)
    const what = (await rowsOf()).map(([, text]) => text)
    expect(what).toContain(`paused the message “${HOSTILE}”`)
    expect(what).toContain(`renamed the message “${old.name}” to “${HOSTILE}”`)
    expect(what).toContain(`saved the message “${old.name}”`)
  })

  test('names people, keys and apps, and shows hostile text as text', async () => {
    const maker = { store: pages.store, now: pages.clock.ms + 1, actor: 'cli' }
    await createKey(maker, pages.begun.accountId, { name: HOSTILE, scope: 'standard' })
    await pages.addMember('eve@example.com', 'viewer')
    const { html } = await owner.get(pages.at('audit'))
    await expectHarmless(html)
    const rows = await rowsOf()
    expect(rows).toContainEqual(['The command line', `created the API key “${HOSTILE}”`, '–'])
    expect(rows).toContainEqual(['eve@example.com', 'set a password with a link', '–'])
    const what = rows.map(([, text]) => text)
    expect(what).toContain('saved the message “Results ready, they left”')
    expect(what).toContain('created the account')
    expect(what.filter((text) => text?.startsWith('created the app “')).length).toBe(1)
    expect(what.filter((text) => text?.startsWith('created the API key “')).length).toBe(2)
    expect(html).not.toMatch(/mem_\w{10}/)
  })

  test('shows only that a removed member left', async () => {
    await pages.addMember('eve@example.com', 'editor')
    const eve = (await pages.store.listMembers(pages.begun.accountId)).find(({ email }) => email === 'eve@example.com')
    await owner.post(pages.at('members/remove'), { member: eve?.id ?? '' })
    const words = (await rowsOf()).map(([who, what]) => `${who} ${what}`)
    expect(words).toContain('ada@example.com removed a former member')
    expect(words.join()).not.toContain('mem_')
  })

  test('pages newest first, each entry once', async () => {
    const maker = { store: pages.store, actor: 'cli' }
    for (let i = 0; i < 120; i++)
      await createKey({ ...maker, now: pages.clock.ms + Math.floor(i / 7) }, pages.begun.accountId, {
        name: `Key ${i}`,
        scope: 'standard',
      })
    const seen: string[] = []
    let path: string | null = `${pages.at('audit')}?kind=changes`
    while (path) {
      const { html } = await owner.get(path)
      seen.push(...(await cellsOf(html, 3)))
      const next: string | undefined = /<a class="button plain" href="([^"]+)" rel="next">/.exec(html)?.[1]
      path = next?.replaceAll('&amp;', '&') ?? null
    }
    const keys = seen.filter((text) => text.startsWith('created the API key “Key'))
    expect([keys.length, new Set(keys).size]).toEqual([120, 120])
  })

  test.each(['?before=x', '?before=1-aud_', '?kind=nothing', '?before=99999999999999999-aud_1', '?kind=constructor'])(
    'of %s starts with the newest',
    async (query) => {
      const { status, html } = await owner.get(`${pages.at('audit')}${query}`)
      expect([status, (await cellsOf(html, 3)).length > 0]).toEqual([200, true])
    },
  )

  test('is for owners of the account only', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    await pages.addMember('vic@example.com', 'editor')
    const vic = await pages.signedIn('vic@example.com')
    expect((await vic.get(pages.at('audit'))).status).toBe(403)
    expect((await owner.get(`/apps/${other.appId}/audit`)).status).toBe(404)
    const eve = await pages.signedIn('eve@example.com')
    const { html } = await eve.get(`/apps/${other.appId}/audit`)
    expect(html).not.toContain('ada@example.com')
  })
})

describe('the log of the server', () => {
  const logged = () =>
    pages.securityLog.map(({ level, message, outcome, by, reason }) => [level, message, outcome ?? reason, by])

  test('contains every sign-in, with factors and the same hash', async () => {
    const { secret } = await turnOn(pages, owner)
    pages.securityLog.length = 0
    const browser = createBrowser(pages, { address: '10.0.0.9' })
    await browser.signIn('ada@example.com', 'wrong')
    await browser.signIn('nobody@example.com', 'wrong')
    await browser.signIn('ada@example.com')
    await browser.post('/sign-in/code', { code: '000000' })
    await browser.post('/sign-in/code', { code: codeAt(secret, pages.clock.ms) })
    expect(logged()).toEqual([
      ['warn', 'sign-in', 'wrong_password', undefined],
      ['warn', 'sign-in', 'wrong_password', undefined],
      ['warn', 'sign-in', 'wrong_code', undefined],
      ['info', 'sign-in', 'done', 'code'],
    ])
    const [known, unknown] = pages.securityLog
    expect([typeof known?.memberId, unknown?.memberId, known?.address]).toEqual(['string', null, HASH])
    expect((await rowsOf('?kind=sign_ins')).map(([, , address]) => address)).toContain(String(known?.address))
    expect(JSON.stringify(pages.securityLog)).not.toMatch(/example\.com|10\.0\.0\.9/)
  })

  test('contains tries that came too soon, and refused pages', async () => {
    pages.securityLog.length = 0
    const guesser = createBrowser(pages, { address: '10.0.0.1' })
    for (let i = 0; i < 6; i++) await guesser.signIn('ada@example.com', 'wrong')
    expect(logged().at(-1)).toEqual(['warn', 'sign-in', 'delayed', undefined])
    const other = await pages.addAccount('eve@example.com', 'Other')
    await owner.get(`/apps/${other.appId}/events`)
    expect(logged().at(-1)).toEqual(['warn', 'access denied', 'not_a_member', undefined])
    await pages.addMember('vic@example.com', 'viewer')
    const viewer = await pages.signedIn('vic@example.com')
    const tries = [
      () => viewer.post(pages.at('keys'), { name: 'x' }),
      () => viewer.post(pages.at('messages/new'), { do: 'test' }),
      ...['keys/new', 'new-app', 'messages/new', 'members/new', 'audit'].map(
        (page) => () => viewer.get(pages.at(page)),
      ),
    ]
    for (const tryIt of tries) {
      pages.securityLog.length = 0
      expect((await tryIt()).status).toBe(403)
      expect(logged()).toEqual([['warn', 'access denied', 'role_too_low', undefined]])
    }
    await owner.post('/sign-in', {}, { 'Sec-Fetch-Site': 'cross-site' })
    expect(logged().at(-1)).toEqual(['warn', 'request refused', 'foreign_origin', undefined])
  })
})

test('every stored action has a text', async () => {
  const files = [...new Bun.Glob('src/store/*.ts').scanSync(`${import.meta.dir}/../../..`)]
  const sources = await Promise.all(files.map((path) => Bun.file(`${import.meta.dir}/../../../${path}`).text()))
  const written = sources.flatMap((source) =>
    Array.from(
      source.matchAll(
        /(?<!content', )'((?:account|app|contact|data|delivery|key|mail|member|message|notice|plan|secret|session|sign_in|snippet|suppression|two_step)\.[a-z_]+)'/g,
      ),
      ([, action = '']) => action,
    ),
  )
  expect(written.length).toBeGreaterThan(25)
  const nobody = { members: [], keys: [], apps: [], messages: [], deliveries: new Map(), people: new Map() }
  const entry = { id: '', accountId: '', actor: '', subject: null, createdAt: 0, address: null, count: 1 }
  const described = written.map((action) => describeAction({ ...entry, action }, nobody))
  expect(described.filter((text) => /^\w+\.\w/.test(text))).toEqual([])
  expect(describeAction({ ...entry, action: 'app.unknown' }, nobody)).toBe('app.unknown')
})
