/** Walks through the app's settings and Activation's error states. */
import type { Page } from 'playwright-core'
import { signEmail } from '../../src/accounts/identity.ts'
import { addPerson, page as pageView, report, send } from '../api/reports.ts'
import { EVENTS } from '../helper.ts'
import type { Served } from './chromium.ts'
import { HOSTILE } from './seed.ts'

type Step = { name: string; isOpen?: true; go(page: Page, server: Served): Promise<unknown> }

const at = ({ url, first }: Served, page: string): string => `${url}/apps/${first.appId}/${page}`

/** One of each error that Activation shows. */
async function goWrong(server: Served): Promise<void> {
  const { appId: app, siteId } = server.first
  const headers = { Origin: 'https://app.first.example' }
  await server.call('POST', EVENTS, { body: { app, event: 'no!', email: 'ada@example.com' }, headers })
  await addPerson(server)
  await send(server, report(server.first, { events: [pageView(`/${HOSTILE}`)] }))
  await send(server, report(server.first, { signature: 'F'.repeat(64) }))
  await send(server, report(server.first, { email: 'nobody@example.com' }))
  await send(server, { site: siteId, events: [] })
  server.clock.tick(5_000)
  await send(server, report(server.first, { events: [] }))
  await server.parts().requests.save()
}

export const ACTIVATION_STEPS: Step[] = [
  {
    name: 'activation-refused',
    go: async (page, server) => {
      await goWrong(server)
      await page.goto(at(server, 'activation'))
    },
  },
  {
    name: 'activation-consent',
    go: async (page) => {
      await page.click('summary:has-text("Script tag for your pages")')
      await page.click('label[for=tag-consent]')
    },
  },
  {
    name: 'activation-checked',
    go: async (page, { first }) => {
      await page.click('summary:has-text("Check a signature")')
      await page.fill('#email', 'ada@example.com')
      await page.fill('#signature', signEmail('ada@example.com', first.identitySecret).toUpperCase())
      await page.click('#check button')
    },
  },
]

/** Before a message is live. The result is there from a later load on. */
export const OVERVIEW_STEPS: Step[] = [
  {
    name: 'overview-draft',
    go: async (page, server) => {
      const isCounted = () => page.getByText('Nobody emailed them').isVisible()
      do await page.goto(at(server, 'overview'))
      while (!(await isCounted()))
    },
  },
  { name: 'overview-people', go: (page) => page.click('.overview-answer a:text-is("See who")') },
]

export const OVERVIEW_LIVE_STEPS: Step[] = [
  { name: 'overview', go: (page, server) => page.goto(at(server, 'overview')) },
]

/** Rows of every kind, one of which stands for many. */
async function addRequests({ parts, first, call, clock }: Served): Promise<void> {
  const event = { app: first.appId, email: 'ada@example.com', event: 'signed_in', createContact: true }
  await call('POST', EVENTS, { body: event })
  await call('POST', `${EVENTS}/batch`, {
    body: {
      events: [
        { ...event, event: '!' },
        { ...event, email: 'x' },
      ],
    },
  })
  for (let count = 0; count < 60; count++) {
    clock.tick(count < 30 ? 1_000 : 0)
    await call('POST', EVENTS, { body: { ...event, event: HOSTILE } })
  }
  await call('GET', `${EVENTS}/${encodeURIComponent(HOSTILE)}`)
  await parts().requests.save()
}

export const REQUEST_STEPS: Step[] = [
  { name: 'requests-empty', go: (page, server) => page.goto(at(server, 'requests?code=internal_error')) },
  {
    name: 'requests',
    go: async (page, server) => {
      await addRequests(server)
      await page.goto(at(server, 'requests'))
    },
  },
  { name: 'requests-older', go: (page) => page.click('.pager [rel=next]') },
  {
    name: 'requests-filtered',
    go: (page, server) => page.goto(at(server, 'requests?kind=all&code=invalid_field&status=400')),
  },
  {
    name: 'requests-unfound',
    go: async (page) => {
      await page.fill('#id', 'req_unknown')
      await page.click('.finder > button')
    },
  },
  { name: 'requests-accepted', go: (page, server) => page.goto(at(server, 'requests?kind=accepted')) },
  { name: 'request-accepted', go: (page) => page.click('.feed .what') },
  {
    name: 'request',
    go: async (page, server) => {
      await page.goto(at(server, 'requests'))
      await page.click('.feed .what')
    },
  },
  { name: 'request-unknown', go: (page, server) => page.goto(at(server, 'requests/req_unknown')) },
]

export const APP_STEPS: Step[] = [
  { name: 'settings', go: (page, server) => page.goto(at(server, 'settings')) },
  {
    name: 'settings-wrong',
    go: async (page) => {
      await page.fill('#domains', `app.first.example\n${HOSTILE}`)
      await page.click('main .primary')
    },
  },
  {
    name: 'settings-saved',
    go: async (page) => {
      await page.fill('#app', HOSTILE)
      await page.fill('#domains', 'app.first.example\nwww.first.example')
      await page.check('[name=addsPeople]')
      await page.click('main .primary')
    },
  },
  {
    name: 'settings-late',
    // viewed signed out
    isOpen: true,
    go: async (page) => {
      await page.context().clearCookies({ name: /^eventpost_session/ })
      await page.click('main .primary')
    },
  },
  { name: 'new-app', go: (page, server) => page.goto(at(server, 'new-app')) },
  { name: 'new-app-wrong', go: (page) => page.click('main .primary') },
  { name: 'members', go: (page, server) => page.goto(at(server, 'members')) },
  {
    name: 'members-name-wrong',
    go: async (page) => {
      await page.fill('#name', '')
      await page.click('#account button')
    },
  },
  {
    name: 'members-renamed',
    go: async (page) => {
      await page.fill('#name', 'The Society for the Advancement of Analytical Engines')
      await page.click('#account button')
    },
  },
  { name: 'audit', go: (page, server) => page.goto(at(server, 'audit')) },
  { name: 'member-new', go: (page, server) => page.goto(at(server, 'members/new')) },
  {
    name: 'member-invited',
    go: async (page) => {
      await page.fill('#email', 'charles.babbage@analytical-engines.example.com')
      await page.click('main .primary')
    },
  },
  {
    name: 'member',
    go: async (page, server) => {
      await page.goto(at(server, 'members'))
      await page.click('tr:has-text("charles") .button')
    },
  },
  { name: 'member-remove', go: (page) => page.click('[popovertarget=remove]') },
  { name: 'member-removed', go: (page) => page.click('dialog:popover-open .danger') },
]
