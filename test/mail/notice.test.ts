import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { MANY_FAILURES } from '../../src/accounts/sign-in-notes.ts'
import { codeAt, STEP_MS, turnOn, twoStepPath } from '../dashboard/access/authenticator.ts'
import { type AccountPages, appOf, createBrowser, openAccount, PASSWORD } from '../dashboard/browser.ts'
import { DAY } from '../dashboard/pages.ts'
import { LOOPBACK_HOSTS } from '../helper.ts'
import { type MailServer, startMailServer } from './mail-server.ts'
import { comesTrue, until } from '../waiting.ts'

let server: MailServer
let pages: AccountPages
const open = async (defaults: { smtpUrl: string | null; from: string | null }) => {
  pages = await openAccount({ mail: { defaults, privateHosts: LOOPBACK_HOSTS, noteServer: () => {} } })
}
beforeEach(async () => {
  server = await startMailServer()
  await open({ smtpUrl: server.url, from: 'Post <post@example.com>' })
})
afterEach(async () => {
  await pages.close()
  await server.stop()
})

const subjectsOf = () => server.received.map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim())
const settled = async (count: number) => {
  await comesTrue(() => server.received.length >= count)
  // for one too many
  await Bun.sleep(50)
  return subjectsOf()
}
const guess = async (count: number, email = 'ada@example.com') => {
  for (let i = 0; i < count; i++) {
    pages.clock.ms += 31_000
    await createBrowser(pages, { address: `10.0.${i}.1` }).signIn(email, 'a wrong one')
  }
}

describe('many wrong passwords', () => {
  test('notify the member, once a day, and no one else', async () => {
    await guess(MANY_FAILURES.wrong_password - 1)
    expect(await settled(0)).toEqual([])
    await guess(1)
    expect(await settled(1)).toEqual(['Many failed sign-ins with your Eventpost email'])
    const [{ to, from, raw } = { to: [], from: '', raw: '' }] = server.received
    expect([to, from]).toEqual([['ada@example.com'], 'post@example.com'])
    const text = raw.replaceAll('=\r\n', '')
    expect(text).toContain(
      'Someone entered 20 wrong passwords for your account, from 19 IP addresses. None of them worked.',
    )
    expect(text).toContain('http://localhost:8080/sign-in')
    expect(raw).not.toMatch(/10\.0\.\d|token|a wrong one/)
    await guess(3 * MANY_FAILURES.wrong_password)
    await guess(2 * MANY_FAILURES.wrong_password, 'nobody@example.com')
    expect(await settled(1)).toHaveLength(1)
    pages.clock.ms += DAY
    await guess(MANY_FAILURES.wrong_password)
    expect(await settled(2)).toHaveLength(2)
  })

  test('notify once a day, also across a restart', async () => {
    await guess(MANY_FAILURES.wrong_password)
    expect(await settled(1)).toHaveLength(1)
    const member = await pages.store.findMember('ada@example.com')
    const claim = {
      memberId: member?.id ?? '',
      action: 'notice.wrong_passwords',
      since: pages.clock.ms - DAY,
      at: pages.clock.ms,
    }
    expect(await pages.store.claimNotice(claim)).toEqual({ refusal: 'already_done' })
  })

  test('do not slow sign-ins if the mail server hangs or refuses', async () => {
    await server.stop()
    await guess(MANY_FAILURES.wrong_password)
    expect((await createBrowser(pages, { address: '10.0.1.1' }).signIn('ada@example.com')).status).toBe(303)
    const notices = () => pages.securityLog.filter(({ message }) => message === 'security notice')
    await until(() => notices().length > 0)
    expect(notices()).toEqual([expect.objectContaining({ level: 'warn', kind: 'wrong_passwords', outcome: 'failed' })])
  })
})

test('wrong codes notify sooner, because the password is known', async () => {
  const { secret } = await turnOn(pages, await pages.signedIn())
  expect(await settled(1)).toEqual(['Two-step sign-in for Eventpost was turned on'])
  for (let i = 0; i < MANY_FAILURES.wrong_code; i++) {
    const browser = createBrowser(pages, { address: `10.1.${i}.1` })
    await browser.signIn('ada@example.com')
    await browser.post('/sign-in/code', { code: '000000' })
  }
  expect((await settled(2)).at(-1)).toBe('Someone may know your Eventpost password')
  expect(server.received.at(-1)?.raw.replaceAll('=\r\n', '')).toContain('someone knows your password. Change it now.')
  expect(codeAt(secret, pages.clock.ms)).toMatch(/^\d{6}$/)
})

test('changes to sign-in notify the member', async () => {
  const ada = await pages.signedIn()
  const { secret, codes } = await turnOn(pages, ada)
  const change = { password: PASSWORD, newPassword: 'four dull wooden spoons' }
  await ada.post(`${pages.at('you')}/password`, change)
  const recovering = createBrowser(pages)
  await recovering.signIn('ada@example.com', change.newPassword)
  await recovering.post('/sign-in/code', { recoveryCode: codes[0] ?? '' })
  pages.clock.ms += STEP_MS
  const confirmed = { confirmPassword: change.newPassword, confirmCode: codeAt(secret, pages.clock.ms) }
  await recovering.post(twoStepPath(pages, '/off'), confirmed)
  expect((await settled(4)).toSorted()).toEqual([
    'A recovery code was used to sign in to Eventpost',
    'Two-step sign-in for Eventpost was turned off',
    'Two-step sign-in for Eventpost was turned on',
    'Your Eventpost password was changed',
  ])
})

test('notices use the mail server of an app if the installation has none', async () => {
  await pages.close()
  await open({ smtpUrl: null, from: null })
  const { id: appId } = await appOf(pages)
  const { accountId } = pages.begun
  await guess(MANY_FAILURES.wrong_password)
  expect(await settled(0)).toEqual([])
  const settings = { smtpUrl: server.url, fromEmail: 'hello@app.example.com' }
  await pages.store.setMailSettings({ accountId, appId, actor: 'test', at: pages.clock.ms, settings })
  await guess(MANY_FAILURES.wrong_password)
  await settled(1)
  expect(server.received.map(({ from, to }) => [from, to])).toEqual([['hello@app.example.com', ['ada@example.com']]])
})
