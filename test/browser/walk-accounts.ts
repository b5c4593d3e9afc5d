/** Walks through joining accounts and the account list. */
import type { Page } from 'playwright-core'
import { createAccount, createApp } from '../../src/accounts/accounts.ts'
import { inviteMember } from '../../src/accounts/members.ts'
import { openMenu, PASSWORD, type Served } from './chromium.ts'
import { HOSTILE } from './seed.ts'

type Step = { name: string; isOpen?: true; isPerView?: true; go(page: Page, server: Served): Promise<unknown> }

/** Another account and the link that invites the first owner. */
async function inviteTo({ url, parts, clock }: Served, name: string, apps: string[]): Promise<string> {
  const maker = { store: parts().store, now: clock.now(), actor: 'test' }
  const beginning = {
    email: `${apps.length}@owner.example`,
    passwordHash: null,
    appName: name,
    domains: [],
    home: null,
  }
  const begun = await createAccount(maker, beginning, { onlyFirst: false, setupToken: null })
  if ('refusal' in begun) throw new Error(begun.refusal)
  for (const app of apps) await createApp(maker, begun.accountId, { name: app, domains: [], home: null })
  const invited = await inviteMember(maker, begun.accountId, { email: 'first@owner.example', role: 'editor' })
  if ('refusal' in invited) throw new Error(invited.refusal)
  return `${url}/password?token=${invited.inviteToken}`
}

/** An invitation of a new person to the first account. */
async function inviteNew({ url, parts, clock, first }: Served): Promise<string> {
  const maker = { store: parts().store, now: clock.now(), actor: 'test' }
  const invited = await inviteMember(maker, first.accountId, { email: 'eve@example.com', role: 'editor' })
  if ('refusal' in invited) throw new Error(invited.refusal)
  return `${url}/password?token=${invited.inviteToken}`
}

export const ACCOUNT_STEPS: Step[] = [
  { name: 'password-signed-in', go: async (page, server) => page.goto(await inviteNew(server)) },
  {
    name: 'password',
    isOpen: true,
    go: async (page) => {
      await page.context().clearCookies({ name: /^eventpost_session/ })
      await page.reload()
    },
  },
  { name: 'password-wrong', isOpen: true, go: (page) => page.click('main .plain') },
  {
    name: 'password-welcome',
    isOpen: true,
    go: async (page) => {
      await page.fill('#newPassword', PASSWORD)
      await page.click('main .plain')
      await page.waitForURL('**/apps/**')
    },
  },
  {
    name: 'invitation',
    isOpen: true,
    go: async (page, server) => {
      await page.context().clearCookies({ name: /^eventpost_session/ })
      await page.goto(await inviteTo(server, HOSTILE, ['Punched cards', HOSTILE]))
    },
  },
  {
    name: 'invitation-wrong',
    isOpen: true,
    go: async (page) => {
      await page.fill('#password', 'wrong')
      await page.click('main .primary')
    },
  },
  {
    name: 'invitation-chosen',
    isOpen: true,
    go: async (page) => {
      await page.fill('#newPassword', 'four dull wooden spoons')
      await page.click('main .plain')
    },
  },
  {
    name: 'invitation-joined',
    isOpen: true,
    go: async (page) => {
      await page.fill('#password', PASSWORD)
      await page.click('main .primary')
    },
  },
  {
    name: 'invitation-signed-in',
    go: async (page, server) => {
      const clients = Array.from({ length: 30 }, (_, index) => `Client ${index + 1}`)
      await page.goto(await inviteTo(server, 'Kew Observatory', clients))
    },
  },
  { name: 'account-joined', go: (page) => page.click('main .primary') },
  {
    name: 'menu-accounts',
    isPerView: true,
    go: async (page) => {
      await page.goto(page.url())
      await openMenu(page)
    },
  },
]
