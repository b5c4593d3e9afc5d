import { describe, expect, spyOn, test } from 'bun:test'
import { resetPassword, setPasswordByLink } from '../../../src/accounts/members.ts'
import { hashPassword } from '../../../src/accounts/passwords.ts'
import { MANY_WRONG_CODES } from '../../../src/accounts/second-steps.ts'
import { SIGN_IN_DELAYS } from '../../../src/accounts/sign-in-tries.ts'
import { codeAt, STEP_MS, turnOn } from './authenticator.ts'
import { type Browser, createBrowser } from '../browser.ts'
import { textOf } from '../pages.ts'
import { useSecondStep } from './second-step.ts'

const step = useSecondStep()
const WRONG_RECOVERY_CODE = '0000-0000-0000-0000-0000-0000-0000'

describe('too many wrong codes', () => {
  const STRANGER = { address: '10.0.0.1' }
  const { free } = SIGN_IN_DELAYS.code
  const use = async (browser: Browser, code: string, times: number) => {
    for (let i = 0; i < times; i++) await step.send(browser, code)
  }
  /** Uses many addresses, so that none is rate limited. */
  const guessEverywhere = async (times: number) => {
    for (let i = 0; i < times; i++) await step.send(await step.asked({ address: `10.1.${i}.1` }), '000000')
  }

  test('wait up to 30 seconds, and explain the other way in', async () => {
    const browser = await step.asked(STRANGER)
    await use(browser, '000000', free)
    const waits: number[] = []
    for (let i = 0; i < 7; i++) {
      const { status, headers } = await step.send(browser, step.now())
      expect(status).toBe(429)
      waits.push(Number(headers.get('retry-after')))
      step.pages.clock.ms += Number(headers.get('retry-after')) * 1_000
      await use(browser, '000000', 1)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30])
    const { html } = await step.send(browser, step.now())
    expect(await textOf(html, '#code-fault')).toEqual([
      'Error: Too many wrong codes. Try again in 30 seconds, use a recovery code, or use a browser that you have signed in with before.',
    ])
    await use(browser, WRONG_RECOVERY_CODE, free)
    const both = await step.send(browser, WRONG_RECOVERY_CODE)
    expect(await textOf(both.html, '#code-fault')).toEqual([
      'Error: Too many wrong recovery codes. Try again in a second or use a browser that you have signed in with before.',
    ])
    step.pages.clock.ms += STEP_MS
    expect((await step.send(await step.asked(STRANGER), step.now())).status).toBe(303)
  })

  test('in a known browser say so, without pointing to another browser', async () => {
    const known = await step.asked()
    await step.send(known, step.now())
    await known.signIn('ada@example.com')
    await use(known, '000000', free)
    const { status, html } = await step.send(known, step.now(1))
    expect([status, await textOf(html, '#code-fault')]).toEqual([
      429,
      ['Error: Too many wrong codes. Try again in a second or use a recovery code.'],
    ])
    expect((await step.send(known, step.codes[0] ?? '')).status).toBe(303)
  })

  test('are forgotten with that password', async () => {
    await use(await step.asked(STRANGER), '000000', free)
    const maker = { store: step.pages.store, now: step.pages.clock.now(), actor: 'cli' }
    const made = await resetPassword(maker, { email: 'ada@example.com', accountId: null })
    const spoons = 'four dull wooden spoons'
    await setPasswordByLink(maker, 'passwordToken' in made ? made.passwordToken : '', await hashPassword(spoons))
    const browser = createBrowser(step.pages, STRANGER)
    await browser.signIn('ada@example.com', spoons)
    expect((await step.send(browser, step.now())).status).toBe(303)
  })

  test('do not block others at the same address', async () => {
    await step.pages.addMember('eve@example.com', 'owner')
    const theirs = await turnOn(step.pages, await step.pages.signedIn('eve@example.com'))
    await use(await step.asked(STRANGER), '000000', free)
    expect((await createBrowser(step.pages, STRANGER).signIn('ada@example.com')).status).toBe(303)
    const eve = createBrowser(step.pages, STRANGER)
    await eve.signIn('eve@example.com')
    expect((await step.send(eve, codeAt(theirs.secret, step.pages.clock.ms))).status).toBe(303)
  })

  test('from many addresses block no one: two right codes in a row work within a minute', async () => {
    const known = await step.asked()
    await step.send(known, step.now())
    await known.post('/sign-out')
    step.pages.clock.ms += STEP_MS
    await guessEverywhere(MANY_WRONG_CODES)
    const browser = await step.asked({ address: '10.2.0.1' })
    const first = step.now()
    const { status, html } = await step.send(browser, first)
    expect([status, await textOf(html, '#code-fault')]).toEqual([
      400,
      [
        'Error: This code is correct. After many wrong codes, you need two correct codes in a row. Enter the next code from your authenticator app.',
      ],
    ])
    expect([(await step.send(browser, first)).status, await step.isIn(browser)]).toEqual([400, false])
    await guessEverywhere(3)
    step.pages.clock.ms += STEP_MS
    expect((await step.send(browser, step.now())).status).toBe(303)
    expect(await step.isIn(browser)).toBe(true)
    // one code works in a known browser, and a recovery code anywhere
    step.pages.clock.ms += STEP_MS
    await known.signIn('ada@example.com')
    expect((await step.send(known, step.now())).status).toBe(303)
    expect((await step.send(await step.asked({ address: '10.2.0.2' }), step.codes[0] ?? '')).status).toBe(303)
    step.pages.clock.ms += SIGN_IN_DELAYS.codes.quietMs
    expect((await step.send(await step.asked({ address: '10.2.0.3' }), step.now())).status).toBe(303)
  })

  test('a right code does not help with a wrong second one or in another browser', async () => {
    await guessEverywhere(MANY_WRONG_CODES)
    const [browser, other] = [await step.asked({ address: '10.2.0.1' }), await step.asked({ address: '10.2.0.2' })]
    await step.send(browser, step.now())
    step.pages.clock.ms += STEP_MS
    expect([(await step.send(browser, '000000')).status, (await step.send(other, step.now())).status]).toEqual([
      400, 400,
    ])
    expect([await step.isIn(browser), await step.isIn(other)]).toEqual([false, false])
  })

  test('sent concurrently are counted too', async () => {
    const browser = await step.asked(STRANGER)
    const all = await Promise.all(Array.from({ length: 50 }, () => step.send(browser, '000000')))
    expect(all.filter(({ status }) => status === 400)).toHaveLength(free)
  })

  test('do not include right codes', async () => {
    for (let i = 0; i <= MANY_WRONG_CODES; i++) {
      step.pages.clock.ms += STEP_MS
      expect((await step.send(await step.asked({ address: '10.0.0.3' }), step.now())).status).toBe(303)
    }
  })
})

describe('a full disk', () => {
  test('does not block sign-ins, with each code once', async () => {
    const failing = [
      spyOn(step.pages.store, 'takeCode').mockResolvedValue({ refusal: 'unavailable' }),
      spyOn(step.pages.store, 'startSession').mockResolvedValue({ refusal: 'unavailable' }),
    ]
    const code = step.now()
    const browsers = [await step.asked(), await step.asked()]
    const both = await Promise.all(browsers.map((browser) => step.send(browser, code)))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
    expect((await step.send(await step.asked({ address: '10.3.0.1' }), code)).status).toBe(400)
    for (const one of failing) one.mockRestore()
    expect((await step.send(await step.asked({ address: '10.3.0.1' }), code)).status).toBe(400)
    expect((await step.send(await step.asked(), step.now(1))).status).toBe(303)
  })

  test('does not use up a recovery code, and says so', async () => {
    const failing = spyOn(step.pages.store, 'takeRecoveryCode').mockResolvedValue({ refusal: 'unavailable' })
    const browser = await step.asked()
    const { status, html } = await browser.post('/sign-in/code', { recoveryCode: step.codes[0] ?? '' })
    failing.mockRestore()
    expect([status, (await textOf(html, '#recoveryCode-fault'))[0]]).toEqual([
      503,
      expect.stringContaining('Nothing was saved'),
    ])
    expect((await browser.post('/sign-in/code', { recoveryCode: step.codes[0] ?? '' })).status).toBe(303)
  })
})
