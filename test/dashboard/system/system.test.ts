import { afterEach, describe, expect, test } from 'bun:test'
import { saveLastCheck } from '../../../src/accounts/dns-checks.ts'
import { readCheckedSenders } from '../../../src/monitoring/attention.ts'
import { startMailServer } from '../../mail/mail-server.ts'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { attributesOf, HOSTILE, NOW, textOf } from '../pages.ts'

let pages: AccountPages
afterEach(() => pages.close())

const bodyOf = async (html: string) => (await textOf(html, 'main')).join(' ').replaceAll(/\s+/g, ' ')

describe('System', () => {
  // the test after this one has what PostgreSQL shows
  test.skipIf(isOnPostgres)(
    'says what is wrong and how to fix it, and shows the state of the installation',
    async () => {
      pages = await openAccount({ errors: [{ at: NOW, message: 'a request failed', reason: `TypeError: ${HOSTILE}` }] })
      const place = {
        kind: 'scheduled' as const,
        place: '/backups/a.db',
        startedAt: NOW,
        finishedAt: NOW,
        bytes: 5_000_000,
      }
      await pages.store.recordBackup({ ...place, error: null, removedPlaces: [] })
      const error = 'The folder of /backups/b.db does not exist. Create it first.'
      await pages.store.recordBackup({ ...place, place: '/backups/b.db', error, removedPlaces: [] })
      const browser = await pages.signedIn()
      const { status, html } = await browser.get(pages.at('system'))
      expect(status).toBe(200)
      const text = await bodyOf(html)
      expect(text).toContain('Set EVENTPOST_BASE_URL to the public address')
      for (const words of [
        'Version',
        `schema ${pages.store.schemaVersion}`,
        'Free disk space',
        'Emails waiting',
        '/backups/a.db',
        '4.8 MB',
      ])
        expect(text).toContain(words)
      expect(text).toContain('a request failed')
      expect(text).toContain('FailedThe folder of /backups/b.db')
      expect(html).not.toContain('<script>alert(1)')
    },
  )

  test('on PostgreSQL, shows the instances, and nothing that only a data folder has', async () => {
    pages = await openAccount({
      location: { url: 'postgres://db.example.com/eventpost', connections: 1, prepares: true },
    })
    pages.store.listRunning = async () => [
      { since: NOW - 7_200_000, isThis: true, clockAheadMs: 40, place: 'web-1, process 7', silentMs: 3_000 },
      { since: NOW - 60_000, isThis: false, clockAheadMs: 3_000, place: 'web-2, process 8', silentMs: 21_000 },
    ]
    const browser = await pages.signedIn()
    const text = await bodyOf((await browser.get(pages.at('system'))).html)
    const others =
      "web-2, process 8, started 1 minute ago, clock 3 seconds ahead of the database server's Last seen 21 s ago"
    expect(text).toContain(`web-1, process 7 (this one), started 2 hours ago${others}`)
    expect(text).not.toContain('Started')
    expect(text).toContain("Made with PostgreSQL's own tools. How to back up PostgreSQL")
    for (const words of ['No backup yet', 'Free disk space', 'write-ahead log']) expect(text).not.toContain(words)
  })

  test('of a restored copy, and Overview, say to owners what was paused and how to continue', async () => {
    pages = await openAccount()
    const restore = { at: NOW - 60_000, paused: 1, ended: 12 }
    await pages.store.setInstallValue({ name: 'restore', value: JSON.stringify(restore) })
    const browser = await pages.signedIn()
    const notice = '1 live message was paused, and 12 waiting emails were stopped'
    const { html } = await browser.get(pages.at('system'))
    expect(await bodyOf(html)).toContain(notice)
    expect(html).toContain('?state=skipped&amp;reason=restored')
    expect(html).toContain('?state=unknown')
    await recordEvent(pages, await appOf(pages), {})
    expect(await bodyOf((await browser.get(pages.at('overview'))).html)).toContain(notice)
    pages.clock.ms += 15 * 24 * 3_600_000
    const later = await bodyOf((await (await pages.signedIn()).get(pages.at('system'))).html)
    expect(later).toContain('Restored from a backup')
    expect(later).not.toContain(notice)
  })

  test('is linked and open for owners of the first account only', async () => {
    pages = await openAccount()
    const owner = await pages.signedIn()
    expect((await owner.get(pages.at('settings'))).html).toContain(pages.at('system'))
    await pages.addMember('eve@example.com', 'editor')
    pages.clock.ms += 1
    const other = await pages.addAccount('zoe@example.com', 'Zoe')
    for (const [email, appId] of [
      ['eve@example.com', pages.begun.appId],
      ['zoe@example.com', other.appId],
    ] as const) {
      const browser = await pages.signedIn(email)
      const path = `/apps/${appId}/system`
      expect((await browser.get(`/apps/${appId}/settings`)).html).not.toContain(path)
      const { status, html } = await browser.get(path)
      expect([email, status]).toEqual([email, 403])
      expect(await bodyOf(html)).not.toContain('Free disk space')
      const [wayOut] = await attributesOf(html, '.next a', 'href')
      expect((await browser.get(wayOut ?? '')).status).toBe(200)
      expect((await browser.post(`${path}/test`)).status).toBe(403)
    }
  })

  test('is where links of alerts lead, also of those without an app', async () => {
    pages = await openAccount()
    const browser = await pages.signedIn()
    expect((await browser.get('/system')).location).toBe(pages.at('system'))
    browser.cookies.clear()
    expect((await browser.get('/system')).location).toBe('/sign-in?next=%2Fsystem')
  })

  test('lists alerts, open ones first', async () => {
    pages = await openAccount()
    const alert = { kind: 'disk', subject: 'data', accountId: null, detail: '', fix: '', path: '/system', notices: [] }
    const alerts = [
      { ...alert, id: 'alt_1', title: 'Nothing can be saved', openedAt: NOW - 7_200_000, resolvedAt: null },
      { ...alert, id: 'alt_2', title: 'The backup is late', openedAt: NOW - 60_000, resolvedAt: NOW },
    ]
    await pages.store.saveAlerts({ alerts })
    const browser = await pages.signedIn()
    const rows = await textOf((await browser.get(pages.at('system'))).html, '#alerts tbody tr')
    expect(rows.map((row) => row.replaceAll(/\s+/g, ' ').trim())).toEqual([
      'OpenNothing can be saved2 hours ago2 hours',
      'ResolvedThe backup is late1 minute ago1 minute',
    ])
  })

  test('links each problem to the page that solves it, and names the fix where the viewer is no member', async () => {
    pages = await openAccount()
    pages.clock.ms += 1
    const other = await pages.addAccount('zoe@example.com', 'Zoe')
    for (const [accountId, domain, openAt] of [
      [pages.begun.accountId, 'first.example', NOW],
      [other.accountId, 'zoe.example', NOW],
    ] as const) {
      const app = await appOf(pages, accountId)
      const by = { accountId, appId: app.id, actor: 'test', at: openAt }
      const settings = { smtpUrl: 'smtp://mail.example.com:587', fromEmail: `hello@${domain}` }
      await pages.store.setMailSettings({ ...by, settings })
      const missing = (about: 'SPF' | 'DMARC') => ({
        about,
        state: 'bad' as const,
        sentence: `${domain} has no ${about} record.`,
        record: null,
      })
      const [sender] = await readCheckedSenders(pages, app, await pages.store.mailSettings(app.id))
      if (!sender) throw new Error('no sender')
      await saveLastCheck(pages.store, {
        appId: app.id,
        sender,
        checks: [missing('SPF'), missing('DMARC')],
        checkedAt: openAt,
      })
    }
    const alert = { kind: 'refused', subject: 'a', title: 'Many requests are refused', detail: '', notices: [] }
    const ofAlert = { accountId: pages.begun.accountId, path: pages.at('requests'), fix: 'Open Requests.' }
    await pages.store.saveAlerts({ alerts: [{ ...alert, ...ofAlert, id: 'alt_1', openedAt: NOW, resolvedAt: null }] })
    const browser = await pages.signedIn()
    const { html } = await browser.get(pages.at('system'))
    const links = await attributesOf(html, '.attention a', 'href')
    for (const href of ['sender/domain#checks', 'requests']) expect(links).toContain(pages.at(href))
    expect(links.filter((href) => href?.includes(other.appId))).toEqual([])
    for (const href of links.filter((one) => one?.startsWith('/apps/')))
      expect([href, (await browser.get((href ?? '').replace(/#.*/, ''))).status]).toEqual([href, 200])
    const items = (await textOf(html, '.attention > li')).map((text) => text.replaceAll(/\s+/g, ' ').trim())
    const [ours, theirs] = ['first.example', 'zoe.example'].map((domain) => items.find((item) => item.includes(domain)))
    expect(ours).toEndWith('are missing or wrong, so emails may go to spam.Show the records to addDNS records')
    expect(theirs).toContain(`Add the records shown on http://localhost:8080/apps/${other.appId}/sender/domain:`)
    expect(await textOf(html, '.attention .fix')).toContain('zoe.example has no DMARC record.')
    expect(items.find((item) => item.includes('Many requests'))).not.toContain('Open Requests')
    expect(await bodyOf(html)).toContain('Mail serverNot set. Apps can have their own.')
  })

  test('says that nobody gets alert emails, if they have no sender address', async () => {
    pages = await openAccount({ mail: { defaults: { smtpUrl: 'smtp://127.0.0.1:1', from: null } } })
    const browser = await pages.signedIn()
    expect(await bodyOf((await browser.get(pages.at('system'))).html)).toContain('Nobody gets alert emails')
  })

  test('sends a test alert, and says by which way', async () => {
    const server = await startMailServer()
    const defaults = { smtpUrl: server.url, from: 'Post <post@example.com>' }
    pages = await openAccount({ mail: { defaults } })
    const browser = await pages.signedIn()
    const { html } = await browser.submit(pages.at('system'), pages.at('system/test'))
    expect(await textOf(html, '.notice')).toHaveLength(1)
    expect(await bodyOf(html)).toContain(`Email through 127.0.0.1:${server.port}: the test alert was sent.`)
    expect(server.received.map(({ to }) => to)).toEqual([['ada@example.com']])
    await server.stop()
  })
})
