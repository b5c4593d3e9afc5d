import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import { SERVER_CHECKS } from '../../../src/mail/server-check.ts'
import { useClosing } from '../../closing.ts'
import { inTurns } from '../../helper.ts'
import { type Behaviour, startMailServer } from '../../mail/mail-server.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const keep = useClosing()

/** Loopback, allowed by the operator in this test. */
const NEAR = { names: new Set(['127.0.0.1', '0.0.0.0']), ranges: [] }
const BEYOND = 'smtp://mail.example.com:587'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount({ mail: { privateHosts: NEAR } })
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const PATH = () => pages.at('sender/server')
const check = async (as = browser) => {
  const { status, html } = await as.post(PATH())
  return { status, told: await textOf(html, '#server-check .notice'), html }
}

/** Sets the app's mail server. */
async function set(smtpUrl: string): Promise<void> {
  const { accountId, id: appId } = await appOf(pages)
  const by = { accountId, appId, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { smtpUrl } })
}

const ASKS: SMTPServerOptions = {
  disabledCommands: [],
  onAuth: ({ password }, _, done) =>
    password === 'pa55' ? done(null, { user: 'ada' }) : done(Object.assign(new Error('no'), { responseCode: 535 })),
}

async function start(behaviour: Behaviour = {}, options: SMTPServerOptions = {}) {
  const server = await startMailServer(behaviour, options)
  keep({ close: server.stop })
  return server
}

describe('the check of the mail server', () => {
  test('is offered if there is one, and runs on request only', async () => {
    const { html } = await browser.get(pages.at('sender'))
    expect(await attributesOf(html, '#server-check form', 'action')).toEqual([])
    expect((await check()).told).toEqual([])
    const server = await start({ connect: () => 'drop' })
    await set(server.url)
    const seen = await browser.get(pages.at('sender'))
    expect(await attributesOf(seen.html, '#server-check form', 'action')).toEqual([`${PATH()}#server-check`])
    expect(await textOf(seen.html, '#server-check .notice')).toEqual([])
  })

  test('says that it answers and accepted the password, and sends nothing', async () => {
    const server = await start({}, ASKS)
    await set(`smtp://ada:pa55@127.0.0.1:${server.port}`)
    const { status, told, html } = await check()
    expect([status, told]).toEqual([
      200,
      [
        `Done: 127.0.0.1:${server.port} answers, the connection is secure, and it took the user name and password. To see whether it accepts emails from hello@first.example, send a test email from a message.`,
      ],
    ])
    expect(html).not.toContain('pa55')
    expect(server.received).toEqual([])
  })

  test('says that no password was needed', async () => {
    const server = await start()
    await set(server.url)
    expect((await check()).told).toEqual([
      expect.stringContaining('answers, without a secure connection. No user name is set, so none was used.'),
    ])
  })

  test('says that an unchecked password may not be set', async () => {
    await set(`smtp://ada:pa55@127.0.0.1:${(await start({}, { disabledCommands: ['AUTH'] })).port}`)
    expect((await check()).told).toEqual([expect.stringContaining('but the mail server offers no login')])
  })

  test.each<[string, string, Behaviour, SMTPServerOptions]>([
    ['smtp://ada:wrong@127.0.0.1', 'rejected the user name and password (it answered 535).', {}, ASKS],
    // loopback, by another address
    ['smtp://0.0.0.0', 'does not offer STARTTLS, so nothing was sent.', {}, {}],
    ['smtp://ada:pa55@127.0.0.1', 'does not offer STARTTLS, so nothing was sent.', {}, {}],
    ['smtp://0.0.0.0', "The mail server's certificate is not trusted", {}, { disabledCommands: [] }],
    ['smtps://127.0.0.1', 'This port of the mail server does not use TLS.', {}, {}],
    ['smtp://127.0.0.1', 'before any email was sent (it answered 554).', { connect: () => 554 }, {}],
    ['smtp://127.0.0.1', 'asked us to try again later (it answered 421).', { connect: () => 421 }, {}],
  ])('explains the problem: %s, %s', async (address, words, behaviour, options) => {
    const { port } = await start(behaviour, options)
    await set(`${address}:${port}`)
    expect((await check()).told).toEqual([expect.stringContaining(words)])
  })

  test('explains the reply without its text', async () => {
    const server = await start({ connect: () => 554, words: () => `5.7.1 ${HOSTILE} internal.example` })
    await set(server.url)
    const { told, html } = await check()
    expect(told).toEqual([expect.stringContaining('answered 554 5.7.1: its policy does not allow the email.')])
    await expectHarmless(html)
    expect(html).not.toContain('internal.example')
  })

  test.each(['127.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', '10.0.0.1', '169.254.169.254'])(
    'reveals nothing about a server at %s, which is not allowed',
    async (host) => {
      const server = await start()
      await pages.close()
      pages = await openAccount()
      browser = await pages.signedIn()
      await set(`smtp://${host}:${server.port}`)
      expect((await check()).told).toEqual([expect.stringContaining('The mail server has no public address')])
      expect(server.connections()).toBe(0)
    },
  )

  test('says that no one listens', async () => {
    const server = await startMailServer()
    await server.stop()
    await set(server.url)
    expect((await check()).told).toEqual([
      "Error: Nothing answers at the mail server's address and port. Check that it runs and that both are right.",
    ])
  })

  test('is for owners and editors', async () => {
    const tried: number[] = []
    const server = await start({ connect: () => (tried.push(1), 'accept') })
    await set(server.url)
    for (const [email, role, status, buttons] of [
      ['editor@example.com', 'editor', 200, 1],
      ['viewer@example.com', 'viewer', 403, 0],
    ] as const) {
      await pages.addMember(email, role)
      const member = await pages.signedIn(email)
      expect((await check(member)).status).toBe(status)
      const { html } = await member.get(pages.at('sender'))
      expect(await attributesOf(html, '#server-check button', 'type')).toHaveLength(buttons)
    }
    await pages.addAccount('eve@example.com', 'Other')
    expect((await check(await pages.signedIn('eve@example.com'))).status).toBe(404)
    expect(tried).toHaveLength(1)
  })

  test('is limited per account', async () => {
    const tried: number[] = []
    const server = await start({ connect: () => (tried.push(1), 421) })
    await set(server.url)
    await inTurns(SERVER_CHECKS.max, () => check())
    pages.clock.ms += SERVER_CHECKS.windowMs - 60_000
    const { status, told } = await check()
    expect([status, told]).toEqual([
      429,
      ['Error: Mail servers were checked 20 times in ten minutes. Wait a minute, then try again.'],
    ])
    expect(tried).toHaveLength(SERVER_CHECKS.max)
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.post(`/apps/${other.appId}/sender/server`)).status).toBe(200)
    pages.clock.ms += 60_000
    expect((await check()).status).toBe(200)
  })
})

describe('a base URL that works on this machine only', () => {
  const LOST =
    'Caution: Nobody can unsubscribe: links in emails lead to http://localhost:8080, which only this machine can reach. Set the public address in EVENTPOST_BASE_URL or with --base-url https://post.example.com.'
  const cautions = async (page: string) => textOf((await browser.get(pages.at(page))).html, '.notice.caution')

  test('is reported on Sender if emails are sent', async () => {
    expect(await cautions('sender')).toEqual([expect.stringContaining('No mail server is set. Emails are captured')])
    await set(BEYOND)
    expect(await cautions('sender')).toEqual([LOST])
    expect(await cautions('messages')).toEqual([])
    for (const near of ['smtp://127.0.0.1:1025', 'smtp://localhost:1025', 'smtp://[::1]:1025']) {
      await set(near)
      expect(await cautions('sender')).toEqual([])
    }
  })

  test('is not reported if people can reach it', async () => {
    await pages.close()
    pages = await openAccount({ baseUrl: 'https://post.example.com' })
    browser = await pages.signedIn()
    await set(BEYOND)
    expect(await cautions('sender')).toEqual([])
  })
})
