import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../../src/accounts/accounts.ts'
import { signEmail } from '../../../src/accounts/identity.ts'
import { type AccountPages, createBrowser, openAccount } from '../browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

describe('the checker of signatures', () => {
  const check = async (email: string, signature: string, who = 'ada@example.com') =>
    (await pages.signedIn(who)).post(`${pages.at('activation')}/signature`, { email, signature })
  const EMAIL = 'grace@example.com'
  const right = () => signEmail(EMAIL, pages.begun.identitySecret)

  test.each<[string, () => string, string]>([
    ['right', right, 'Done: It matches the current identity secret.'],
    ['pasted with a space', () => ` ${right()}\n`, 'Done: It matches the current identity secret.'],
    ['in capitals', () => right().toUpperCase(), 'Error: It matches but is uppercase'],
    ['of another email', () => signEmail('eve@example.com', pages.begun.identitySecret), "Error: It doesn't match."],
    ['none', () => '', 'Error: This is not a signature'],
  ])('reports a signature as %s', async (_name, signature, sentence) => {
    const { status, html } = await check(EMAIL, signature())
    expect([status, (await textOf(html, '#check [role=status]'))[0]]).toEqual([200, expect.stringContaining(sentence)])
    expect(await attributesOf(html, '#check #email', 'value')).toEqual([EMAIL])
  })

  test('says until when an old secret works', async () => {
    const old = right()
    await rotateIdentitySecret({ store: pages.store, now: pages.clock.now(), actor: 'test' }, pages.begun.accountId)
    expect((await check(EMAIL, old)).html).toContain(
      'It matches the previous identity secret, which is accepted for 24 hours after the rotation.',
    )
    pages.clock.ms += DAY
    expect((await check(EMAIL, old)).html).toContain('stopped working 24 hours after its rotation')
  })

  test('does not use secrets of other accounts, and shows input as text', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    expect((await check(EMAIL, signEmail(EMAIL, other.identitySecret))).html).toContain("It doesn't match.")
    const { html } = await check(HOSTILE, HOSTILE)
    await expectHarmless(html)
    expect(await attributesOf(html, '#check #signature', 'value')).toEqual([HOSTILE])
  })

  test('is open to viewers, and only to members', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    expect((await check(EMAIL, right(), 'eve@example.com')).status).toBe(200)
    const stranger = createBrowser(pages)
    const { status, html } = await stranger.post(`${pages.at('activation')}/signature`, {})
    expect([status, html.includes('<h1>Sign in</h1>')]).toEqual([401, true])
  })
})
