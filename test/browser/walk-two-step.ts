/** Walks through two-step sign-in. Runs last, because it ends sessions. */
import type { Page } from 'playwright-core'
import { resetPassword } from '../../src/accounts/members.ts'
import { SIGN_IN_DELAYS } from '../../src/accounts/sign-in-tries.ts'
import { codeAt, STEP_MS } from '../dashboard/access/authenticator.ts'
import { PASSWORD, type Served } from './chromium.ts'

type Step = { name: string; isOpen?: true; go(page: Page, server: Served): Promise<unknown> }

const at = ({ url, first }: Served, page: string): string => `${url}/apps/${first.appId}/${page}`
const secrets = new WeakMap<Served, string>()

const code = (server: Served): string => codeAt(secrets.get(server) ?? '', server.clock.now())

/** Stops at the page that asks for the code. */
async function typePassword(page: Page, server: Served): Promise<void> {
  await page.context().clearCookies()
  await page.goto(`${server.url}/sign-in`)
  await page.fill('#email', 'first@owner.example')
  await page.fill('#password', PASSWORD)
  await page.click('button.primary')
}

/** A password reset link. */
async function reset({ url, parts, clock }: Served, endsTwoStep = false): Promise<string> {
  const maker = { store: parts().store, now: clock.now(), actor: 'cli' }
  const made = await resetPassword(maker, { email: 'first@owner.example', accountId: null, endsTwoStep })
  if ('refusal' in made) throw new Error(made.refusal)
  return `${url}/password?token=${made.passwordToken}`
}

export const TWO_STEP_STEPS: Step[] = [
  {
    name: 'two-step-confirm',
    go: async (page, server) => {
      await page.goto(at(server, 'you'))
      await page.click('#two-step button')
    },
  },
  {
    name: 'two-step-setup',
    go: async (page, server) => {
      await page.fill('#confirmPassword', PASSWORD)
      await page.click('main .primary')
      secrets.set(server, (await page.textContent('#two-step-key'))?.replaceAll(' ', '') ?? '')
    },
  },
  {
    name: 'two-step-wrong',
    go: async (page) => {
      await page.fill('#code', '12345')
      await page.click('main .primary')
    },
  },
  {
    name: 'two-step-codes',
    go: async (page, server) => {
      await page.fill('#code', code(server))
      await page.click('main .primary')
    },
  },
  {
    name: 'two-step-done',
    // in another tab, the page with the form may be open still
    go: async (page, server) => {
      const opened = page.waitForEvent('load')
      await page.evaluate(`(() => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action: '${at(server, 'you/two-step/on')}' })
        document.body.append(form)
        form.submit()
      })()`)
      await opened
    },
  },
  { name: 'two-step-on', go: (page) => page.click('main a.button') },
  {
    name: 'two-step-few',
    go: async (page, server) => {
      const { store } = server.parts()
      const member = await store.findMember('first@owner.example')
      const row = await store.findTwoStep(member?.id ?? '')
      const renewal = { memberId: member?.id ?? '', codeHashes: ['x', 'y'], replaces: row?.codesMadeAt ?? 0 }
      await store.renewRecoveryCodes({ ...renewal, at: server.clock.now() })
      await page.goto(at(server, 'you'))
    },
  },
  { name: 'two-step-renew-confirm', go: (page) => page.click('#two-step button') },
  { name: 'members-two-step', go: (page, server) => page.goto(at(server, 'members')) },
  { name: 'sign-in-code', isOpen: true, go: typePassword },
  {
    name: 'sign-in-code-wrong',
    isOpen: true,
    go: async (page) => {
      await page.fill('#code', '123456')
      await page.click('button.primary')
    },
  },
  { name: 'sign-in-recovery', isOpen: true, go: (page) => page.click('summary') },
  {
    name: 'sign-in-recovery-wrong',
    isOpen: true,
    go: async (page) => {
      await page.fill('#recoveryCode', 'none-none-none-none')
      await page.click('details button')
    },
  },
  {
    name: 'settings-late-code',
    isOpen: true,
    go: async (page, server) => {
      server.clock.tick(STEP_MS)
      await page.fill('#code', code(server))
      await page.fill('#recoveryCode', '')
      await page.click('button.primary')
      await page.waitForURL('**/apps/**')
      await page.goto(at(server, 'settings'))
      await page.context().clearCookies({ name: /^eventpost_session/ })
      await page.click('main .primary')
      await page.fill('#signInEmail', 'first@owner.example')
      await page.fill('#signInPassword', PASSWORD)
      await page.click('main .primary')
    },
  },
  {
    name: 'sign-in-code-too-many',
    isOpen: true,
    go: async (page, server) => {
      await typePassword(page, server)
      const wrong = { form: { code: '000000' }, headers: { 'Sec-Fetch-Site': 'same-origin' } }
      for (let i = 0; i < SIGN_IN_DELAYS.code.free; i++) await page.request.post(`${server.url}/sign-in/code`, wrong)
      await page.fill('#code', '000000')
      await page.click('button.primary')
    },
  },
  {
    name: 'password-two-step-on',
    isOpen: true,
    go: async (page, server) => {
      await page.context().clearCookies()
      await page.goto(await reset(server))
      await page.fill('#password', PASSWORD)
      await page.click('button.primary')
    },
  },
  { name: 'password-two-step-off', isOpen: true, go: async (page, server) => page.goto(await reset(server, true)) },
  {
    name: 'password-alone',
    isOpen: true,
    go: async (page) => {
      await page.fill('#password', PASSWORD)
      await page.click('button.primary')
      await page.waitForURL('**/apps/**')
    },
  },
]
