import { readStored, withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { codeAt, codesOf, setUp, STEP_MS, turnOn, twoStepPath } from './authenticator.ts'
import { type AccountPages, type Browser, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, textOf } from '../pages.ts'

let pages: AccountPages
let ada: Browser
beforeEach(async () => {
  pages = await openAccount()
  ada = await pages.signedIn()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const path = (step = '') => twoStepPath(pages, step)
const memberId = async () => (await pages.store.findMember('ada@example.com'))?.id ?? ''
const sectionOf = async (browser = ada) => {
  const { html } = await browser.get(pages.at('you'))
  const [state] = await textOf(html, '#two-step .badge')
  const [hint = ''] = await textOf(html, '#two-step .hint')
  return { html, state, hint, buttons: await textOf(html, '#two-step button') }
}
const isOn = async () => (await pages.store.listTwoStepOn([await memberId()])).length > 0

const audited = () =>
  withSql(pages.folder, async (sql) => {
    const text = `SELECT action, actor, subject FROM audit_entries WHERE action LIKE 'two_step.%' ORDER BY created_at, id`
    return await sql.prepare(text).all()
  })

/** Confirms a change with the current code. */
const confirmation = (secret: string) => ({ confirmPassword: PASSWORD, confirmCode: codeAt(secret, pages.clock.ms) })

describe('setting it up', () => {
  test('is offered, and always asks for the password', async () => {
    expect(await sectionOf()).toMatchObject({ state: 'Off', buttons: ['Set up'] })
    const asked = await ada.post(path())
    expect([asked.status, await textOf(asked.html, 'h1')]).toEqual([200, ['Confirm your password']])
    expect(await textOf(asked.html, '.lead')).toEqual([
      'You are about to set up two-step sign-in. This changes how you sign in, so it always needs your password.',
    ])
    expect(await attributesOf(asked.html, 'main form a', 'href')).toEqual([pages.at('you')])
    const wrong = await ada.post(path(), { confirmPassword: 'wrong' })
    expect([wrong.status, await textOf(wrong.html, '#confirmPassword-fault')]).toEqual([
      400,
      ['Error: This password is wrong.'],
    ])
    expect(await pages.store.findTwoStep(await memberId())).toBeNull()
  })

  test('shows the QR code and the key, and the pending ones again', async () => {
    const { status, html } = await ada.post(path(), { confirmPassword: PASSWORD })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Set up two-step sign-in']])
    const [key = ''] = await textOf(html, '#two-step-key')
    expect(key).toMatch(/^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/)
    const secret = key.replaceAll(' ', '')
    expect(await attributesOf(html, 'section p a', 'href')).toEqual([
      `otpauth://totp/Eventpost:ada%40example.com?issuer=Eventpost&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
    ])
    expect(await attributesOf(html, 'svg.qr', 'role')).toEqual(['img'])
    expect(await attributesOf(html, '#code', 'inputmode')).toEqual(['numeric'])
    expect(await attributesOf(html, '#code', 'autocomplete')).toEqual(['one-time-code'])
    await expectHarmless(html)
    expect(await setUp(pages, ada)).toBe(secret)
    expect(await sectionOf()).toMatchObject({ state: 'Setup not finished', buttons: ['Continue setup'] })
    expect((await sectionOf()).html).not.toContain(secret)
    expect((await createBrowser(pages).signIn('ada@example.com')).location).toBe('/')
  })

  test('a wrong code leaves it off, with the same key', async () => {
    const secret = await setUp(pages, ada)
    const late = codeAt(secret, pages.clock.ms - 2 * STEP_MS)
    for (const code of ['', 'abc', '000000', late]) {
      const { status, html } = await ada.post(path('/on'), { code })
      expect([status, await textOf(html, '#code-fault')]).toEqual([
        400,
        ["Error: This isn't the current code. If your app shows it, check your phone's clock."],
      ])
      expect((await textOf(html, '#two-step-key')).join('').replaceAll(' ', '')).toBe(secret)
    }
    expect([await isOn(), await audited()]).toEqual([false, []])
  })

  test('a right code turns it on, ends all other sessions and shows ten codes once', async () => {
    const other = await pages.signedIn()
    const secret = await setUp(pages, ada)
    const code = codeAt(secret, pages.clock.ms)
    const { status, html } = await ada.post(path('/on'), { code })
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your recovery codes']])
    expect(await textOf(html, '.lead')).toEqual(['Two-step sign-in is on, and all your other sessions have ended.'])
    expect([await textOf(html, '.secret .primary'), (await codesOf(html)).length]).toEqual([['I have stored them'], 10])
    await expectHarmless(html)
    expect([(await other.get(pages.at('you'))).status, await isOn()]).toEqual([303, true])
    const seen = await sectionOf()
    expect([seen.state, seen.buttons]).toEqual(['On', ['Create new recovery codes', 'Turn off']])
    expect(seen.hint).toContain(
      'since 3 May 2026, 12:00 UTC. Signing in needs a code from your authenticator app. All 10 recovery codes are unused.',
    )
    for (const text of [secret, ...(await codesOf(html))]) expect(seen.html).not.toContain(text)
    expect((await ada.post(path('/on'), { code })).status).toBe(409)
    pages.clock.ms += STEP_MS
    expect((await ada.post(path(), confirmation(secret))).status).toBe(409)
    const id = await memberId()
    expect(await audited()).toEqual([{ action: 'two_step.turn_on', actor: id, subject: id }])
  })

  test('reloading the page with the codes says that it is on, and makes new ones', async () => {
    const { secret, codes } = await turnOn(pages, ada)
    const { status, html } = await ada.post(path('/on'), { code: codeAt(secret, pages.clock.ms) })
    expect([status, await textOf(html, 'h1'), await textOf(html, 'main .button')]).toEqual([
      409,
      ['Two-step sign-in is on'],
      ['Create new recovery codes', 'I have them'],
    ])
    for (const text of [secret, ...codes]) expect(html).not.toContain(text)
    const [action, replaces] = await Promise.all([
      attributesOf(html, 'main form', 'action'),
      attributesOf(html, '[name=replaces]', 'value'),
    ])
    const fields = { replaces: replaces[0] ?? '' }
    const renewed = await ada.post(action[0] ?? '', { ...fields, ...confirmation(secret) })
    expect([renewed.status, (await codesOf(renewed.html)).length]).toEqual([200, 10])
    pages.clock.ms += STEP_MS
    const again = await ada.post(action[0] ?? '', { ...fields, ...confirmation(secret) })
    expect([again.status, await textOf(again.html, 'h1')]).toEqual([409, ['Two-step sign-in is on']])
  })

  test('ends unsaved sessions too', async () => {
    const secret = await setUp(pages, ada)
    const full = spyOn(pages.store, 'startSession').mockResolvedValue({ refusal: 'unavailable' })
    const other = createBrowser(pages)
    await other.signIn('ada@example.com')
    expect((await other.get(pages.at('you'))).status).toBe(200)
    expect((await ada.post(path('/on'), { code: codeAt(secret, pages.clock.ms) })).status).toBe(200)
    full.mockRestore()
    expect((await other.get(pages.at('you'))).status).toBe(303)
  })

  test('two tabs with the same code turn it on once', async () => {
    const secret = await setUp(pages, ada)
    const fields = { code: codeAt(secret, pages.clock.ms) }
    const both = await Promise.all([ada.post(path('/on'), fields), ada.post(path('/on'), fields)])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const [code = ''] = await codesOf(both.find(({ status }) => status === 200)?.html ?? '')
    const browser = createBrowser(pages)
    await browser.signIn('ada@example.com')
    expect((await browser.post('/sign-in/code', { recoveryCode: code })).location).toBe('/')
  })

  test('expires after an hour with a message', async () => {
    const secret = await setUp(pages, ada)
    pages.clock.ms += 60 * MINUTE
    await pages.store.cleanUp({ at: pages.clock.ms })
    const { status, html } = await ada.post(path('/on'), { code: codeAt(secret, pages.clock.ms) })
    expect([status, await textOf(html, '#two-step [role=alert]')]).toEqual([
      409,
      ['Error: The setup expired after an hour, or your password was changed. Start again.'],
    ])
    expect([await isOn(), (await sectionOf()).state]).toEqual([false, 'Off'])
  })

  test('a new password restarts it, because the key may be known', async () => {
    const seen = await setUp(pages, ada)
    const changed = { password: PASSWORD, newPassword: 'four dull wooden spoons' }
    expect((await ada.post(`${pages.at('you')}/password`, changed)).status).toBe(303)
    const late = await ada.post(path('/on'), { code: codeAt(seen, pages.clock.ms) })
    expect([late.status, await textOf(late.html, '#two-step [role=alert]')]).toEqual([
      409,
      ['Error: The setup expired after an hour, or your password was changed. Start again.'],
    ])
    const { html } = await ada.post(path(), { confirmPassword: changed.newPassword })
    const key = (await textOf(html, '#two-step-key')).join('').replaceAll(' ', '')
    expect([key.length, key === seen, await isOn()]).toEqual([32, false, false])
  })

  test('503: a full disk says so, and a retry works', async () => {
    const secret = await setUp(pages, ada)
    const failing = spyOn(pages.store, 'turnOnTwoStep').mockResolvedValue({ refusal: 'unavailable' })
    const fields = { code: codeAt(secret, pages.clock.ms) }
    const { status, html } = await ada.post(path('/on'), fields)
    failing.mockRestore()
    expect([status, (await textOf(html, '#two-step [role=alert]')).join()]).toEqual([
      503,
      expect.stringContaining("can't save right now"),
    ])
    expect((await ada.post(path('/on'), fields)).status).toBe(200)
  })
})

describe('new recovery codes', () => {
  const replaces = async () => (await attributesOf((await sectionOf()).html, '[name=replaces]', 'value'))[0] ?? ''

  test('need the password and a code, replace the old ones, once per form', async () => {
    const { secret, codes } = await turnOn(pages, ada)
    const fields = { replaces: await replaces() }
    expect(await textOf((await ada.post(path('/codes'), fields)).html, 'h1')).toEqual(['Confirm your password'])
    const { status, html } = await ada.post(path('/codes'), { ...fields, ...confirmation(secret) })
    expect([status, await textOf(html, '.lead')]).toEqual([200, ['These codes replace your previous ones.']])
    const made = await codesOf(html)
    expect([made.length, made.filter((code) => codes.includes(code))]).toEqual([10, []])
    pages.clock.ms += STEP_MS
    expect((await ada.post(path('/codes'), { ...fields, ...confirmation(secret) })).status).toBe(409)
    const browser = createBrowser(pages)
    await browser.signIn('ada@example.com')
    expect((await browser.post('/sign-in/code', { recoveryCode: codes[0] ?? '' })).status).toBe(400)
    expect((await browser.post('/sign-in/code', { recoveryCode: made[0] ?? '' })).location).toBe('/')
    expect(await audited()).toMatchObject([
      { action: 'two_step.turn_on' },
      { action: 'two_step.renew_recovery_codes' },
      { action: 'two_step.use_recovery_code' },
    ])
  })

  test('are counted, with a warning when few are left', async () => {
    const { codes } = await turnOn(pages, ada)
    const said: string[] = []
    for (const recoveryCode of codes) {
      const browser = createBrowser(pages)
      await browser.signIn('ada@example.com')
      await browser.post('/sign-in/code', { recoveryCode })
      const { html, hint } = await sectionOf(browser)
      const [notice] = await textOf(html, '#two-step .notice')
      said.push(`${hint.split('. ')[2]}${notice ? ' And a caution.' : ''}`)
    }
    expect(said.slice(-5)).toEqual([
      '4 of 10 recovery codes are left.',
      '3 of 10 recovery codes are left. And a caution.',
      '2 of 10 recovery codes are left. And a caution.',
      '1 of 10 recovery codes is left. And a caution.',
      'No recovery codes are left. And a caution.',
    ])
  })
})

describe('changing it needs a code and the password', () => {
  test('and a wrong or a used one changes nothing', async () => {
    const { secret } = await turnOn(pages, ada)
    const asked = await ada.post(path('/off'))
    expect(await attributesOf(asked.html, 'main input[id]', 'name')).toEqual(['confirmPassword', 'confirmCode'])
    const right = confirmation(secret)
    for (const confirmCode of ['', '000000', codeAt(secret, pages.clock.ms - 2 * STEP_MS)]) {
      const { status, html } = await ada.post(path('/off'), { ...right, confirmCode })
      expect([status, await textOf(html, '#confirmCode-fault')]).toEqual([
        400,
        ['Error: This code is wrong or was already used.'],
      ])
    }
    pages.clock.ms += STEP_MS
    expect((await ada.post(path('/off'), { ...confirmation(secret), confirmPassword: 'wrong' })).status).toBe(400)
    expect(await isOn()).toBe(true)
    expect((await ada.post(path('/off'), confirmation(secret))).status).toBe(303)
  })

  test('a recovery code works too, once', async () => {
    const { codes } = await turnOn(pages, ada)
    const fields = { confirmPassword: PASSWORD, confirmCode: codes[0] ?? '' }
    expect((await ada.post(path(), fields)).status).toBe(409)
    expect((await ada.post(path(), fields)).status).toBe(400)
    expect((await sectionOf()).hint).toContain('9 of 10 recovery codes are left.')
  })
})

test('turning it off needs the password and a code', async () => {
  const { secret } = await turnOn(pages, ada)
  expect(await textOf((await ada.post(path('/off'))).html, 'h1')).toEqual(['Confirm your password'])
  expect((await ada.post(path('/off'), { confirmPassword: 'wrong' })).status).toBe(400)
  expect(await isOn()).toBe(true)
  const { status, location } = await ada.post(path('/off'), confirmation(secret))
  expect([status, location, await isOn()]).toEqual([303, pages.at('you'), false])
  expect(await textOf((await ada.get(location ?? '')).html, '[role=status]')).toEqual([
    'Done: Two-step sign-in is off. You sign in with your password alone.',
  ])
  expect((await createBrowser(pages).signIn('ada@example.com')).location).toBe('/')
  expect(await audited()).toMatchObject([{ action: 'two_step.turn_on' }, { action: 'two_step.turn_off' }])
})

test('every role can use it, and the list of members shows who does', async () => {
  await pages.addMember('vic@example.com', 'viewer')
  const vic = await pages.signedIn('vic@example.com')
  await turnOn(pages, vic)
  expect([await isOn(), (await sectionOf()).state, (await sectionOf(vic)).state]).toEqual([false, 'Off', 'On'])
  const { html } = await ada.get(pages.at('members'))
  expect(await textOf(html, 'tbody .badge.good')).toEqual(['Active', 'Active, two-step'])
})

test('each account of a member sees only that it is on', async () => {
  const other = await pages.addAccount('eve@example.com', 'Other')
  await pages.addMember('ada@example.com', 'viewer', other.accountId)
  const { secret } = await turnOn(pages, ada)
  const text = `SELECT account_id AS account FROM audit_entries WHERE action = 'two_step.turn_on'`
  const noted = await withSql(pages.folder, async (sql) => await sql.prepare<{ account: string }>(text).all())
  expect(noted.map(({ account }) => account).toSorted()).toEqual([pages.begun.accountId, other.accountId].toSorted())
  const eve = await pages.signedIn('eve@example.com')
  const { html } = await eve.get(`/apps/${other.appId}/members`)
  expect((await textOf(html, 'tbody .badge.good')).toSorted()).toEqual(['Active', 'Active, two-step'])
  expect(html).not.toContain(secret)
})

test('keys need only the password', async () => {
  await turnOn(pages, ada)
  pages.clock.ms += 10 * MINUTE
  const fields = { form: 'x'.repeat(43), name: 'Production', scope: 'standard' }
  const asked = await ada.post(pages.at('keys'), fields)
  expect(await textOf(asked.html, 'main input:not([type=hidden])')).toHaveLength(1)
  const made = await ada.post(pages.at('keys'), { ...fields, confirmPassword: PASSWORD })
  expect(await textOf(made.html, 'h1')).toEqual(['Your new key'])
})

test('recovery codes are stored as hashes', async () => {
  const { codes } = await turnOn(pages, ada)
  const stored = await readStored(pages.folder)
  for (const code of codes) {
    expect(stored).not.toContain(code.replaceAll('-', ''))
    expect(stored).toContain(Bun.SHA256.hash(code.replaceAll('-', ''), 'base64url'))
  }
})

test('forms from another site or without a session change nothing', async () => {
  await turnOn(pages, ada)
  for (const step of ['', '/on', '/codes', '/off']) {
    const fields = { confirmPassword: PASSWORD }
    expect((await ada.post(path(step), fields, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    expect((await pages.post(path(step), fields)).status).toBe(401)
  }
  expect(await isOn()).toBe(true)
})
