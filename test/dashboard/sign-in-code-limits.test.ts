/** How often a code may be wrong, and signing in with one while the disk is full (promises 5 and 14). */
import { describe, expect, spyOn, test } from 'bun:test'
import { resetPassword, setPasswordByLink } from '../../src/core/members.ts'
import { hashPassword } from '../../src/core/passwords.ts'
import { SIGN_IN_LIMITS } from '../../src/core/sign-in-tries.ts'
import { codeAt, STEP_MS, turnOn } from './authenticator.ts'
import { type Browser, createBrowser } from './browser.ts'
import { textOf } from './pages.ts'
import { useSecondStep } from './second-step.ts'

const step = useSecondStep()

describe('too many wrong codes', () => {
  const STRANGER = { address: '10.0.0.1' }
  const { max, windowMs } = SIGN_IN_LIMITS.code
  const use = async (browser: Browser, code: string, times: number) => {
    for (let i = 0; i < times; i++) await step.send(browser, code)
  }

  test('wait, and say how long and what gets in all the same', async () => {
    const browser = await step.asked(STRANGER)
    await use(browser, '000000', max)
    const { status, html, headers } = await step.send(browser, step.now())
    expect([status, Number(headers.get('retry-after')) > 86_300]).toEqual([429, true])
    expect(await textOf(html, '#code-fault')).toEqual([
      'Error: Too many wrong codes were tried. Wait 24 hours, or use a recovery code, or use a browser that you have signed in with before.',
    ])
    await use(browser, '0000-0000-0000-0000', max)
    const both = await step.send(browser, '0000-0000-0000-0000')
    expect(await textOf(both.html, '#code-fault')).toEqual([
      'Error: Too many wrong recovery codes were tried. Wait 24 hours, or use a browser that you have signed in with before.',
    ])
  })

  test('in a browser that has signed in before say so, and lead to no other browser', async () => {
    const known = await step.asked()
    await step.send(known, step.now())
    await known.signIn('ada@example.com')
    await use(known, '000000', max)
    const { status, html } = await step.send(known, step.now(1))
    expect([status, await textOf(html, '#code-fault')]).toEqual([
      429,
      [
        'Error: Too many wrong codes were tried in browsers that you have signed in with. Wait 24 hours, or use a recovery code.',
      ],
    ])
    expect((await step.send(known, step.codes[0] ?? '')).status).toBe(303)
  })

  test('are forgotten with the password that they followed', async () => {
    await use(await step.asked(STRANGER), '000000', max)
    const maker = { store: step.pages.store, now: step.pages.clock.now(), actor: 'cli' }
    const made = await resetPassword(maker, { email: 'ada@example.com', accountId: null })
    const spoons = 'four dull wooden spoons'
    await setPasswordByLink(maker, 'passwordToken' in made ? made.passwordToken : '', await hashPassword(spoons))
    const browser = createBrowser(step.pages)
    await browser.signIn('ada@example.com', spoons)
    expect((await step.send(browser, step.now())).status).toBe(303)
  })

  test('keep nobody from typing a password, or a code of their own, at the same address', async () => {
    await step.pages.addMember('eve@example.com', 'owner')
    const theirs = await turnOn(step.pages, await step.pages.signedIn('eve@example.com'))
    await use(await step.asked(STRANGER), '000000', max)
    expect((await createBrowser(step.pages, STRANGER).signIn('ada@example.com')).status).toBe(303)
    const eve = createBrowser(step.pages, STRANGER)
    await eve.signIn('eve@example.com')
    expect((await step.send(eve, codeAt(theirs.secret, step.pages.clock.ms))).status).toBe(303)
  })

  test('of one member from many addresses wait, but neither a known browser nor a recovery code', async () => {
    const known = await step.asked()
    await step.send(known, step.now())
    await known.post('/sign-out')
    for (let i = 0; i < max; i++) await step.send(await step.asked({ address: `10.1.${i}.1` }), '000000')
    step.pages.clock.ms += STEP_MS
    const elsewhere = await step.asked({ address: '10.2.0.1' })
    const { status, html } = await step.send(elsewhere, step.now())
    expect([status, (await textOf(html, '#code-fault'))[0]]).toEqual([429, expect.stringContaining('Wait 24 hours')])
    await known.signIn('ada@example.com')
    expect((await step.send(known, step.now())).status).toBe(303)
    expect((await step.send(elsewhere, step.codes[0] ?? '')).status).toBe(303)
    step.pages.clock.ms += windowMs
    expect((await step.send(await step.asked({ address: '10.2.0.1' }), step.now())).status).toBe(303)
  })

  test('sent all at once are counted too', async () => {
    const browser = await step.asked(STRANGER)
    const all = await Promise.all(Array.from({ length: 50 }, () => step.send(browser, '000000')))
    expect(all.filter(({ status }) => status === 400)).toHaveLength(max)
  })

  test('are those that were wrong: right ones are not counted', async () => {
    for (let i = 0; i <= max; i++) {
      step.pages.clock.ms += STEP_MS
      expect((await step.send(await step.asked({ address: '10.0.0.3' }), step.now())).status).toBe(303)
    }
  })
})

describe('a full disk', () => {
  test('keeps nobody from signing in, with each code once', async () => {
    const failing = [
      spyOn(step.pages.store, 'takeCode').mockResolvedValue({ refusal: 'unavailable' }),
      spyOn(step.pages.store, 'startSession').mockResolvedValue({ refusal: 'unavailable' }),
    ]
    const code = step.now()
    const browsers = [await step.asked(), await step.asked()]
    const both = await Promise.all(browsers.map((browser) => step.send(browser, code)))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
    expect((await step.send(await step.asked(), code)).status).toBe(400)
    for (const one of failing) one.mockRestore()
    expect((await step.send(await step.asked(), code)).status).toBe(400)
    expect((await step.send(await step.asked(), step.now(1))).status).toBe(303)
  })

  test('takes no recovery code, and says that it was not used', async () => {
    const failing = spyOn(step.pages.store, 'takeRecoveryCode').mockResolvedValue({ refusal: 'unavailable' })
    const browser = await step.asked()
    const { status, html } = await browser.post('/sign-in/code', { recoveryCode: step.codes[0] ?? '' })
    failing.mockRestore()
    expect([status, (await textOf(html, '#recoveryCode-fault'))[0]]).toEqual([
      503,
      expect.stringContaining('nothing was saved'),
    ])
    expect((await browser.post('/sign-in/code', { recoveryCode: step.codes[0] ?? '' })).status).toBe(303)
  })
})
