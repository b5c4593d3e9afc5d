import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import { publicId } from '../../../src/core/ids.ts'
import { SERVER_CHECKS } from '../../../src/mail/server-check.ts'
import { useClosing } from '../../closing.ts'
import { inTurns } from '../../helper.ts'
import { type Behaviour, startMailServer } from '../../mail/mail-server.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { OWN } from '../../mail/certificates.ts'

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

const PATH = () => pages.at('sender/server/check')
const PAGE = () => pages.at('sender/server')
const check = async (as = browser) => {
  const { status, html } = await as.post(PATH())
  return { status, notices: await textOf(html, '#server-check [role=status] .notice'), html }
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
    const { html } = await browser.get(PAGE())
    expect(await attributesOf(html, '#server-check', 'id')).toEqual([])
    expect((await check()).notices).toEqual([])
    const server = await start({ connect: () => 'drop' })
    await set(server.url)
    const seen = await browser.get(PAGE())
    expect(await attributesOf(seen.html, '#server-check form', 'action')).toEqual([
      `${PATH()}#server-check`,
      `${pages.at('sender/server/test')}#server-check`,
      pages.at('sender/server/remove'),
    ])
    expect(await textOf(seen.html, '#server-check [role=status] .notice')).toEqual([])
  })

  test('says that it answers and accepted the password, and sends nothing', async () => {
    const server = await start({}, ASKS)
    await set(`smtp://ada:pa55@127.0.0.1:${server.port}`)
    const { status, notices, html } = await check()
    expect([status, notices]).toEqual([
      200,
      [
        `Done: 127.0.0.1:${server.port} responds over a secure connection and accepts the username and password. To see whether it accepts emails from hello@first.example, send a test email.`,
      ],
    ])
    expect(html).not.toContain('pa55')
    expect(server.received).toEqual([])
  })

  test('says that no password was needed', async () => {
    const server = await start()
    await set(server.url)
    expect((await check()).notices).toEqual([
      expect.stringContaining('responds without a secure connection. No username is set.'),
    ])
  })

  test('says that an unchecked password may not be set', async () => {
    await set(`smtp://ada:pa55@127.0.0.1:${(await start({}, { disabledCommands: ['AUTH'] })).port}`)
    expect((await check()).notices).toEqual([
      expect.stringContaining("but the mail server doesn't offer login on this port"),
    ])
  })

  test.each<[string, string, Behaviour, SMTPServerOptions]>([
    ['smtp://ada:wrong@127.0.0.1', 'rejected the username and password (it replied 535).', {}, ASKS],
    // loopback, by another address
    ['smtp://0.0.0.0', 'does not offer STARTTLS, so nothing was sent.', {}, {}],
    ['smtp://ada:pa55@127.0.0.1', 'does not offer STARTTLS, so nothing was sent.', {}, {}],
    [
      'smtp://0.0.0.0',
      "The mail server's certificate comes from an unknown issuer",
      {},
      { disabledCommands: [], ...OWN },
    ],
    ['smtps://127.0.0.1', 'This port of the mail server does not use TLS.', {}, {}],
    ['smtp://127.0.0.1', 'before any email was sent (it replied 554).', { connect: () => 554 }, {}],
    ['smtp://127.0.0.1', 'asked Eventpost to try again later (it replied 421).', { connect: () => 421 }, {}],
  ])('explains the problem: %s, %s', async (address, words, behaviour, options) => {
    const { port } = await start(behaviour, options)
    await set(`${address}:${port}`)
    expect((await check()).notices).toEqual([expect.stringContaining(words)])
  })

  test('explains the reply, and quotes it', async () => {
    const server = await start({
      connect: () => 554,
      words: () => `5.7.1 ${HOSTILE} internal.example ${'x'.repeat(999)}`,
    })
    await set(server.url)
    const { notices, html } = await check()
    expect(notices).toEqual([
      expect.stringContaining('replied 554 5.7.1: its policy does not allow the email. Its reply: “'),
    ])
    expect(notices[0]).toContain('internal.example')
    expect(notices[0]).toEndWith('…”')
    await expectHarmless(html)
  })

  test('quotes nothing that the server of the installation says', async () => {
    const server = await start({ connect: () => 554, words: () => `5.7.1 internal.example` })
    await pages.close()
    pages = await openAccount({ mail: { defaults: { smtpUrl: server.url, from: 'hello@first.example' } } })
    browser = await pages.signedIn()
    const { notices, html } = await check()
    expect(notices).toEqual([expect.stringContaining('replied 554 5.7.1: its policy does not allow the email.')])
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
      expect((await check()).notices).toEqual([
        expect.stringContaining(`No public mail server has the name or address `),
      ])
      expect(server.connections()).toBe(0)
    },
  )

  test('says that no one listens', async () => {
    const server = await startMailServer()
    await server.stop()
    await set(server.url)
    expect((await check()).notices).toEqual([
      "Error: Nothing responds at the mail server's address and port. Check that it is running and that both are correct.",
    ])
  })

  test('asks whether it is a mail server where something else answers', async () => {
    const http = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), data: () => {} },
    })
    keep({ close: async () => http.stop(true) })
    await set(`smtp://127.0.0.1:${http.port}`)
    expect((await check()).notices).toEqual([
      `Error: 127.0.0.1:${http.port} doesn't speak SMTP. Check that it is a mail server, and check the port: usually 587 with STARTTLS or 465 with TLS.`,
    ])
  })

  test('is for owners and editors', async () => {
    const tried: number[] = []
    const server = await start({ connect: () => (tried.push(1), 'accept') })
    await set(server.url)
    for (const [email, role, status, buttons] of [
      ['editor@example.com', 'editor', 200, 2],
      ['viewer@example.com', 'viewer', 403, 0],
    ] as const) {
      await pages.addMember(email, role)
      const member = await pages.signedIn(email)
      expect((await check(member)).status).toBe(status)
      const { html } = await member.get(PAGE())
      expect(await attributesOf(html, '#server-check form button', 'type')).toHaveLength(buttons)
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
    const { status, notices } = await check()
    expect([status, notices]).toEqual([
      429,
      ['Error: Mail servers were checked 20 times in ten minutes. Wait a minute, then try again.'],
    ])
    expect(tried).toHaveLength(SERVER_CHECKS.max)
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.post(`/apps/${other.appId}/sender/server/check`)).status).toBe(200)
    pages.clock.ms += 60_000
    expect((await check()).status).toBe(200)
  })
})

describe('a test email', () => {
  const test_ = async (): Promise<{ status: number; notices: string[] }> => {
    const { status, html } = await browser.submit(PAGE(), pages.at('sender/server/test'))
    return { status, notices: await textOf(html, '.notice:not(.caution)') }
  }

  test('goes to the member, and says what the server answered', async () => {
    const server = await start()
    await set(server.url)
    const to = 'ada@example.com'
    expect(await test_()).toEqual({ status: 200, notices: [`Done: The mail server accepted the email to ${to}.`] })
    expect(server.received.map(({ to: given }) => given)).toEqual([[to]])
    expect(server.received[0]?.raw).toContain('[Test]')
    const refusing = await start({ recipient: () => 550 })
    await set(refusing.url)
    expect(await test_()).toEqual({ status: 200, notices: [expect.stringMatching(/^Error: Nothing was sent\..*550/)] })
  })

  test('without a sender address leads owners to where they add one', async () => {
    await pages.close()
    pages = await openAccount({ mail: { defaults: { smtpUrl: null, from: null }, privateHosts: NEAR } })
    const server = await start()
    await set(server.url)
    await pages.addMember('eve@example.com', 'editor')
    const said = async (email: string) => {
      browser = await pages.signedIn(email)
      const { html } = await browser.submit(PAGE(), pages.at('sender/server/test'))
      const notice = '#server-check [role=status] .notice'
      return [...(await textOf(html, notice)), ...(await attributesOf(html, `${notice} a`, 'href'))]
    }
    const why = 'Error: Nothing was sent. The app has no sender address.'
    expect(await said('ada@example.com')).toEqual([`${why} Set a sender address.`, pages.at('sender')])
    expect(await said('eve@example.com')).toEqual([`${why} An owner can set one under Sender.`, pages.at('sender')])
    expect(server.received).toEqual([])
  })

  test('is limited per member', async () => {
    const server = await start()
    await set(server.url)
    for (let number = 0; number < 20; number += 1) expect((await test_()).status).toBe(200)
    expect(await test_()).toEqual({
      status: 429,
      notices: [expect.stringContaining('You can send 20 tests a minute. Try again in')],
    })
    expect(server.received).toHaveLength(20)
  })
})

describe('a message that led here', () => {
  const backOf = async (path: string) => textOf((await browser.get(path)).html, 'main > p > a')

  test('is linked, also after saving and on presets', async () => {
    const [draft] = await pages.store.listMessages((await appOf(pages)).id)
    const from = `?message=${publicId('msg', draft?.id ?? 0)}`
    const { html } = await browser.get(pages.at(`messages/${publicId('msg', draft?.id ?? 0)}`))
    expect(await attributesOf(html, '#checklist a', 'href')).toContain(PAGE() + from)
    expect(await backOf(PAGE() + from)).toEqual(['Back to “Results ready, they left”'])
    expect(await backOf(PAGE())).toEqual([])
    expect(await backOf(`${PAGE()}?message=${publicId('msg', 999)}`)).toEqual([])
    const presets = await attributesOf((await browser.get(PAGE() + from)).html, '.choices a', 'href')
    for (const href of presets) expect(await backOf(href ?? '')).toHaveLength(1)
    const { port } = await start()
    const fields = { smtpHost: '127.0.0.1', smtpPort: String(port), smtpSecurity: 'starttls' }
    const { location } = await browser.submit(PAGE() + from, PAGE(), fields)
    expect(location).toBe(PAGE() + from)
    expect(await backOf(location ?? '')).toHaveLength(1)
  })
})

describe('saving a mail server', () => {
  const save = (fields: Record<string, string>) =>
    browser.submit(PAGE(), PAGE(), { smtpPort: '587', smtpSecurity: 'starttls', ...fields })
  const LOGIN = { smtpUser: 'ada', smtpPassword: 'pa55' }
  const settings = async () => pages.store.mailSettings((await appOf(pages)).id)

  test('connects, logs in and saves', async () => {
    const { port } = await start({}, ASKS)
    const typed = { smtpHost: '127.0.0.1', smtpPort: String(port), ...LOGIN }
    const { status, location } = await save(typed)
    expect([status, location]).toEqual([303, PAGE()])
    expect((await settings()).smtpUrl).toBe(`smtp://ada:pa55@127.0.0.1:${port}`)
    const { html } = await browser.get(PAGE())
    expect(html).not.toContain('pa55')
    expect(await attributesOf(html, '#smtpHost, #smtpPort, #smtpUser', 'value')).toEqual([
      '127.0.0.1',
      String(port),
      'ada',
    ])
    expect(await textOf(html, '#smtpPassword-hint')).toEqual(['Saved. Leave empty to keep it.'])
    // an empty field keeps it
    expect((await save({ ...typed, smtpPassword: '' })).status).toBe(303)
    expect((await settings()).smtpUrl).toBe(`smtp://ada:pa55@127.0.0.1:${port}`)
  })

  test('says that the connection is not encrypted', async () => {
    const { port } = await start()
    expect((await save({ smtpHost: '127.0.0.1', smtpPort: String(port) })).status).toBe(303)
    const SAVED = 'Done: The mail server responded and was saved. Emails now go through it, without encryption.'
    const PLAIN = 'Caution: The connection is encrypted only if this server offers STARTTLS. That is allowed because'
    const local = `${PLAIN} the server runs on this machine and has no password.`
    expect(await textOf((await browser.get(PAGE())).html, '.notice')).toEqual([SAVED, local])
    // after a reload too
    expect(await textOf((await browser.get(PAGE())).html, '.notice')).toEqual([local])
    await save({ smtpHost: '127.0.0.1', smtpPort: String(port), smtpSecurity: 'optional' })
    expect(await textOf((await browser.get(PAGE())).html, '.notice')).toEqual([
      SAVED,
      `${PLAIN} its security is “Not required”.`,
    ])
  })

  test('says whether the connection is encrypted, once it is checked', async () => {
    await set((await start()).url)
    const cautions = async () => textOf((await check()).html, '.notice.caution')
    expect(await cautions()).toEqual([
      'Caution: The connection is not encrypted. That is allowed because the server runs on this machine and has no password.',
    ])
    await set(`smtp://127.0.0.1:${(await start({}, { disabledCommands: [] })).port}`)
    expect(await cautions()).toEqual([])
  })

  test('says what failed, in the words of the server, and saves only when asked to', async () => {
    const { port } = await start({}, ASKS)
    const typed = { smtpHost: '127.0.0.1', smtpPort: String(port), smtpUser: 'ada', smtpPassword: 'wrong' }
    const refused = await save(typed)
    expect(refused.status).toBe(422)
    expect(await textOf(refused.html, '#server .notice.error')).toEqual([
      'Error: Not saved. The mail server rejected the username and password (it replied 535). Its reply: “535 no”',
    ])
    expect(refused.html).not.toContain('wrong')
    expect((await settings()).smtpUrl).toBe(null)

    const hidden = await hiddenFieldsOf(refused.html, '#server')
    expect(await textOf(refused.html, '#server button')).toEqual(['Try again', 'Save anyway'])
    const kept = { ...typed, smtpPassword: '', ...hidden, do: 'save_anyway', smtpSecurity: 'starttls' }
    // the carried password is for this host and user only
    expect((await browser.post(PAGE(), { ...kept, smtpHost: '0.0.0.0' })).status).toBe(400)
    expect((await browser.post(PAGE(), kept)).status).toBe(303)
    expect((await settings()).smtpUrl).toBe(`smtp://ada:wrong@127.0.0.1:${port}`)
    expect(await textOf((await browser.get(PAGE())).html, '[role=status] .notice.caution')).toEqual([
      'Caution: The mail server was saved without a check. Emails wait if it refuses them.',
    ])
  })

  test('never sends the saved password to another host', async () => {
    await set('smtp://ada:pa55@127.0.0.1:1')
    const { status, html } = await save({ smtpHost: '0.0.0.0', smtpPort: '1', smtpUser: 'ada' })
    expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
      400,
      ['Error: Enter the password again for this host and username.'],
    ])
  })

  test('is refused after a change of somebody else, and keeps the typed password', async () => {
    const { port } = await start({}, ASKS)
    const hidden = await hiddenFieldsOf((await browser.get(PAGE())).html, '#server')
    await set('smtp://127.0.0.1:9')
    const typed = { smtpHost: '127.0.0.1', smtpPort: String(port), smtpSecurity: 'starttls', ...LOGIN }
    const { status, html } = await browser.post(PAGE(), { ...typed, ...hidden })
    expect([status, await textOf(html, '[role=alert]')]).toEqual([409, [expect.stringContaining('Mail server')]])
    const again = await browser.post(PAGE(), { ...typed, smtpPassword: '', ...(await hiddenFieldsOf(html, '#server')) })
    expect([again.status, (await settings()).smtpUrl]).toEqual([303, `smtp://ada:pa55@127.0.0.1:${port}`])
  })

  test('counts as a check; beyond the limit it can still be saved', async () => {
    const { port } = await start({ connect: () => 421 })
    const typed = { smtpHost: '127.0.0.1', smtpPort: String(port) }
    await inTurns(SERVER_CHECKS.max, () => check())
    await set(`smtp://127.0.0.1:${port}`)
    await inTurns(SERVER_CHECKS.max, () => check())
    const limited = await save(typed)
    expect([limited.status, await textOf(limited.html, '#server .notice')]).toEqual([
      429,
      [expect.stringContaining('Not saved. Mail servers were checked 20 times')],
    ])
    expect((await save({ ...typed, do: 'save_anyway' })).status).toBe(303)
  })

  test('says what private addresses need, unless the operator allowed some', async () => {
    const HINT = 'Private addresses need --mail-private-hosts.'
    const hints = async () => textOf((await browser.get(PAGE())).html, '#smtpHost-hint')
    expect(await hints()).toEqual([])
    await pages.close()
    pages = await openAccount()
    browser = await pages.signedIn()
    expect(await hints()).toEqual([HINT])
  })

  test.each(['10.0.0.1', '::ffff:127.0.0.2', 'localhost', 'mail.internal'])(
    'that is not public is refused next to its field: %s',
    async (smtpHost) => {
      const { status, html } = await save({ smtpHost, do: 'save_anyway' })
      expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
        400,
        [
          expect.stringMatching(
            /This address is not public\..*restart Eventpost with.*--mail-private-hosts \S+ or EVENTPOST_MAIL_PRIVATE_HOSTS=\S+\.$/,
          ),
        ],
      ])
      expect((await settings()).smtpUrl).toBe(null)
    },
  )

  test('refuses invalid input and keeps it, without the password', async () => {
    const typed = { smtpHost: HOSTILE, smtpPort: '0', smtpSecurity: HOSTILE, smtpUser: HOSTILE, smtpPassword: 'pa55' }
    const { status, html } = await save(typed)
    await expectHarmless(html)
    expect([status, await attributesOf(html, '[aria-invalid]', 'name')]).toEqual([400, ['smtpHost', 'smtpPort']])
    expect(await attributesOf(html, '#smtpHost', 'value')).toEqual([HOSTILE])
    expect(html).not.toContain('pa55')
  })

  test('starts from presets, as links', async () => {
    const { html } = await browser.get(PAGE())
    const links = await attributesOf(html, '.choices a', 'href')
    expect(await textOf(html, '.choices a')).toEqual([
      'Amazon SES',
      'Postmark',
      'Resend',
      'Mailgun',
      'SendGrid',
      'Brevo',
      'Google Workspace',
      'Fastmail',
      'Other',
    ])
    const resend = (await browser.get(`${links[2]}&by=smtp`)).html
    expect(await attributesOf(resend, '#smtpHost, #smtpPort, #smtpUser', 'value')).toEqual([
      'smtp.resend.com',
      '465',
      'resend',
    ])
    expect(await textOf(resend, '.choices [aria-current], option[selected]')).toEqual(['Resend', 'TLS (port 465)'])
    await set('smtp://ada:pa55@127.0.0.1:1')
    const other = (await browser.get(links.at(-1) ?? '')).html
    expect(await attributesOf(other, '#smtpHost', 'value')).toEqual([''])
  })

  test('can be undone', async () => {
    await set('smtp://ada:pa55@127.0.0.1:1')
    expect((await browser.submit(PAGE(), pages.at('sender/server/remove'))).status).toBe(303)
    expect((await settings()).smtpUrl).toBe(null)
  })
})

describe('a base URL that works on this machine only', () => {
  const LOST =
    "Problem: Recipients can't unsubscribe: links in emails lead to http://localhost:8080, which only this machine can open. Set the public address in EVENTPOST_BASE_URL or with --base-url https://post.example.com. How to set it"
  const problems = async (page: string) => textOf((await browser.get(pages.at(page))).html, '.notice.problem')

  test('is reported once, on Sender, if emails are sent, also by a server on this machine', async () => {
    expect(await problems('sender')).toEqual([])
    for (const url of [BEYOND, 'smtp://127.0.0.1:1025', 'smtp://localhost:1025', 'smtp://[::1]:1025']) {
      await set(url)
      expect(await problems('sender')).toEqual([LOST])
    }
    await set(BEYOND)
    for (const page of ['sender/server', 'sender/domain', 'sender/limits', 'messages'])
      expect([page, await problems(page)]).toEqual([page, []])
  })

  test('is not reported if people can reach it', async () => {
    await pages.close()
    pages = await openAccount({ baseUrl: 'https://post.example.com' })
    browser = await pages.signedIn()
    await set(BEYOND)
    expect(await problems('sender')).toEqual([])
  })
})
