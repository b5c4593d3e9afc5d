import { beforeEach, describe, expect, test } from 'bun:test'
import { findAppSettings } from '../../../src/accounts/app-settings.ts'
import { markSettings } from '../../../src/accounts/settings-basis.ts'
import { appOf, createBrowser, hiddenFieldsOf, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { useSecondStep } from '../access/second-step.ts'

const step = useSecondStep()
const MINUTE = 60_000
const COOKIE = 'eventpost_second_step_8080'
const WRONG = 'Error: This code is wrong or was already used.'
const USED_UP = 'You used a recovery code. See how many are left under Your profile.'

describe('a form sent after its session ended', () => {
  const TYPED = { app: HOSTILE, home: 'https://app.example.com', domains: 'app.example.com', timezone: 'UTC' }
  const ADA = { signInEmail: 'ada@example.com', signInPassword: PASSWORD }
  const nameOfApp = async () => (await step.pages.store.listApps(step.pages.begun.accountId)).at(0)?.name

  /** With the marks of the settings as a form shows them. */
  async function shownSettings(): Promise<Record<string, string>> {
    const { store, previewKey: key } = step.pages
    const app = await appOf(step.pages)
    return {
      ...TYPED,
      basedOn: markSettings({ key, appId: app.publicId, settings: await findAppSettings(store, app) }),
    }
  }
  let SETTINGS: Record<string, string> = {}
  beforeEach(async () => void (SETTINGS = await shownSettings()))

  /** The page that asks for the code, and its browser. */
  async function lateAsked() {
    const browser = createBrowser(step.pages)
    const { status, html } = await browser.post(step.pages.at('settings'), { ...SETTINGS, ...ADA })
    return { browser, status, html }
  }

  test('is kept during the second step, then submitted', async () => {
    const { browser, status, html } = await lateAsked()
    expect([status, await hiddenFieldsOf(html), await nameOfApp()]).toEqual([401, SETTINGS, 'Engine'])
    expect(await attributesOf(html, '#signInCode', 'autocomplete')).toEqual(['one-time-code'])
    expect(html).not.toContain(PASSWORD)
    await expectHarmless(html)
    const fields = await hiddenFieldsOf(html)
    const sent = await browser.post(step.pages.at('settings'), {
      ...fields,
      signInCode: step.now(),
      signInRecoveryCode: '',
    })
    expect([sent.status, sent.location, await nameOfApp()]).toEqual([303, step.pages.at('settings'), HOSTILE])
    expect([await step.isIn(browser), browser.cookies.has(COOKIE)]).toEqual([true, false])
  })

  test('a wrong code keeps it; a recovery code submits it', async () => {
    const { browser } = await lateAsked()
    const wrong = await browser.post(step.pages.at('settings'), { ...SETTINGS, signInCode: '000000' })
    expect([wrong.status, await textOf(wrong.html, '#signInCode-fault')]).toEqual([400, [WRONG]])
    expect([await hiddenFieldsOf(wrong.html), await nameOfApp()]).toEqual([SETTINGS, 'Engine'])
    const typed = { signInCode: '', signInRecoveryCode: step.codes[0] ?? '' }
    expect((await browser.post(step.pages.at('settings'), { ...SETTINGS, ...typed })).status).toBe(303)
    expect(await nameOfApp()).toBe(HOSTILE)
    expect(await textOf((await browser.get(step.pages.at('settings'))).html, '[role=status]')).toEqual([
      `Done: The settings were saved. ${USED_UP}`,
    ])
    expect(await textOf((await browser.get(step.pages.at('settings'))).html, '[role=status]')).toEqual([])
  })

  test('reports a used recovery code on the next page', async () => {
    const { browser } = await lateAsked()
    const typed = { signInCode: '', signInRecoveryCode: step.codes[0] ?? '' }
    const key = { form: 'x'.repeat(43), name: 'Late', scope: 'standard' }
    const made = await browser.post(step.pages.at('keys'), { ...key, ...typed })
    expect([made.status, await textOf(made.html, 'h1')]).toEqual([200, ['Your new key']])
    expect(await textOf((await browser.get(step.pages.at('keys'))).html, '[role=status]')).toEqual([`Done: ${USED_UP}`])
  })

  test('is kept for another sign-in if too late or without the password', async () => {
    const { browser } = await lateAsked()
    step.pages.clock.ms += 5 * MINUTE
    for (const one of [browser, createBrowser(step.pages)]) {
      const late = await one.post(step.pages.at('settings'), { ...SETTINGS, signInCode: step.now() })
      expect([late.status, await textOf(late.html, '[role=alert]')]).toEqual([
        400,
        ['Error: This sign-in expired. Enter your password again.'],
      ])
      expect([await hiddenFieldsOf(late.html), await nameOfApp()]).toEqual([SETTINGS, 'Engine'])
      expect(await attributesOf(late.html, '#signInEmail', 'name')).toEqual(['signInEmail'])
    }
  })
})
