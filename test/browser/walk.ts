/** Walks through every page, for the pictures and the page tests. */
import type { Page } from 'playwright-core'
import { createSetupToken } from '../../src/accounts/accounts.ts'
import { makeSummaryToken } from '../../src/monitoring/weekly-summary.ts'
import { ADA, HOSTILE, seedEvents, SLY } from './seed.ts'
import { ACCOUNT_STEPS } from './walk-accounts.ts'
import { ACTIVATION_STEPS, APP_STEPS, OVERVIEW_LIVE_STEPS, OVERVIEW_STEPS, REQUEST_STEPS } from './walk-app.ts'
import { MESSAGE_STEPS } from './walk-messages.ts'
import { MAIL_STEPS, NO_MAIL_STEPS } from './walk-mail.ts'
import { TWO_STEP_STEPS } from './walk-two-step.ts'
import { CONFIRM_STEPS, TOPIC_STEPS, UNSUBSCRIBE_STEPS } from './walk-unsubscribe.ts'
import { openMenu, PASSWORD, type Served } from './chromium.ts'

/**
 * `isPerView`: what it opens depends on the width. `isTall`: something long was opened on purpose, so the height is not
 * checked.
 */
export type Step = {
  name: string
  isOpen?: true
  isPerView?: true
  isTall?: true
  go(page: Page, server: Served): Promise<unknown>
}

const at = (server: Served, page: string): string => `${server.url}/apps/${server.first.appId}/${page}`

/** Calls of an AI client: successful, refused and unnamed. */
async function addCalls({ parts, first, clock }: Served): Promise<void> {
  const call = { accountId: first.accountId, keyId: first.keyId, client: 'claude-code/2.1.3', calledAt: clock.now() }
  await parts().store.addCalls([
    { ...call, tool: 'get_setup_status', outcome: 'ok', ms: 3, client: null },
    { ...call, tool: 'send_event', outcome: 'contact_not_found', ms: 12 },
    { ...call, tool: 'set_message_status', outcome: 'ok', ms: 1_204 },
  ])
}

/** An alert, backups and an error of each kind. */
async function fillSystem({ parts, clock }: Served): Promise<void> {
  const at = clock.now()
  const { store } = parts()
  const alert = { kind: 'sending', accountId: null, path: '/system', notices: [] }
  const title = "The mail server mail.example.com:587 can't be reached"
  const fix = 'Start the mail server, or check its address and the network. Sending then resumes automatically.'
  await store.saveAlerts({
    alerts: [
      { ...alert, id: 'alt_1', subject: 'a', title, detail: SLY, fix, openedAt: at - 5_400_000, resolvedAt: null },
      {
        ...alert,
        id: 'alt_2',
        subject: 'b',
        title: HOSTILE,
        detail: '',
        fix,
        openedAt: at - 9e7,
        resolvedAt: at - 8e7,
      },
    ],
  })
  const backup = { kind: 'scheduled' as const, place: `/var/backups/${SLY}.db`, startedAt: at, finishedAt: at }
  await store.recordBackup({ ...backup, bytes: 4_800_000, error: null, removedPlaces: [] })
  await store.recordBackup({ ...backup, place: 's3://backups', bytes: 0, error: HOSTILE, removedPlaces: [] })
}

/** In this order; `isOpen` pages need no sign-in. */
export const STEPS: Step[] = [
  { name: 'sign-in', isOpen: true, go: (page, { url }) => page.goto(`${url}/sign-in`) },
  {
    name: 'sign-in-wrong',
    isOpen: true,
    go: async (page) => {
      await page.fill('#email', 'somebody@example.com')
      await page.fill('#password', 'wrong')
      await page.click('button.primary')
    },
  },
  {
    name: 'setup',
    isOpen: true,
    go: async (page, server) => {
      const token = await createSetupToken({ store: server.parts().store, now: server.clock.now() })
      await page.goto(`${server.url}/setup?token=${token}`)
    },
  },
  { name: 'setup-wrong', isOpen: true, go: (page) => page.click('button.primary') },
  { name: 'sign-in-unsent', isOpen: true, go: (page, { url }) => page.goto(`${url}/sign-in?next=/&unsent=1`) },
  { name: 'form-address', isOpen: true, go: (page, { url }) => page.goto(`${url}/apps/app_1/keys/revoke`) },
  { name: 'not-found', isOpen: true, go: (page, { url }) => page.goto(`${url}/nothing`) },
  { name: 'docs', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/events`) },
  { name: 'docs-messages', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/messages`) },
  { name: 'docs-security', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/security`) },
  { name: 'docs-api', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/api`) },
  { name: 'docs-call', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/api/post-contacts`) },
  { name: 'docs-search', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/search?q=rate+limit`) },
  { name: 'docs-search-nothing', isOpen: true, go: (page, { url }) => page.goto(`${url}/docs/search?q=zzz`) },
  { name: 'docs-member', go: (page, { url }) => page.goto(`${url}/docs/start`) },
  { name: 'docs-member-call', go: (page, { url }) => page.goto(`${url}/docs/api/post-events`) },
  { name: 'events-empty', go: (page, server) => page.goto(at(server, 'events')) },
  { name: 'people-empty', go: (page, server) => page.goto(at(server, 'people')) },
  { name: 'activation', go: (page, server) => page.goto(at(server, 'activation')) },
  { name: 'activation-tested', go: (page) => page.click('aside form button') },
  { name: 'activation-python', go: (page) => page.click('label[for=code-python]') },
  { name: 'activation-key', go: (page) => page.click('main section form button') },
  ...ACTIVATION_STEPS,
  ...REQUEST_STEPS,
  {
    name: 'events',
    go: async (page, server) => {
      await seedEvents(server)
      await page.goto(at(server, 'events'))
    },
  },
  { name: 'events-weeks', go: (page, server) => page.goto(at(server, 'events?range=weeks')) },
  { name: 'events-of-a-name', go: (page, server) => page.goto(at(server, 'events?range=days&event=results_ready')) },
  { name: 'events-older', go: (page) => page.click('.pager [rel=next]') },
  { name: 'events-nothing', go: (page, server) => page.goto(at(server, 'events?event=nothing')) },
  {
    name: 'event',
    go: async (page, server) => {
      await page.goto(at(server, 'events'))
      await page.click('.feed > li:first-child .what')
    },
  },
  {
    name: 'event-hostile',
    go: async (page, server) => {
      await page.goto(at(server, 'events?event=profile_saved'))
      await page.click('.feed > li:first-child .what')
    },
  },
  { name: 'person-hostile', go: (page) => page.click('.page-head a') },
  { name: 'people', go: (page, server) => page.goto(at(server, 'people')) },
  {
    name: 'people-unknown',
    go: async (page) => {
      await page.fill('#search', 'nobody@example.com')
      await page.click('.finder > button')
    },
  },
  {
    name: 'people-filter',
    go: async (page, server) => {
      await page.goto(at(server, 'people'))
      await page.click('.filter-menu > summary')
    },
  },
  {
    name: 'people-filtered',
    go: async (page) => {
      await page.fill('#tag', 'customer')
      await page.selectOption('#seen', 'never')
      await page.selectOption('#emails', 'not-sent')
      await page.selectOption('#days', '7')
      await page.click('.filter-fields .primary')
    },
  },
  {
    name: 'person',
    go: async (page, server) => {
      await page.goto(at(server, 'people'))
      await page.fill('#search', ADA)
      await page.click('.finder > button')
    },
  },
  { name: 'person-edit', go: (page) => page.click('.page-head a[href$="/edit"]') },
  {
    name: 'person-edited',
    go: async (page) => {
      await page.fill('#lastName', 'King')
      await page.fill('#tags', 'beta\nvip')
      await page.fill('[name="fields[0].name"]', 'plan')
      await page.fill('[name="fields[0].value"]', 'pro')
      await page.click('main form button.primary')
    },
  },
  { name: 'person-new', go: (page, server) => page.goto(at(server, 'people/new')) },
  {
    name: 'person-new-wrong',
    go: async (page) => {
      await page.fill('#email', 'ada@')
      await page.fill('[name="fields[0].value"]', 'pro')
      await page.click('main form button.primary')
    },
  },
  {
    name: 'person-again',
    go: async (page, server) => {
      await page.goto(at(server, 'people'))
      await page.fill('#search', ADA)
      await page.click('.finder > button')
    },
  },
  { name: 'person-erase', go: (page) => page.click('[popovertarget=erase]') },
  { name: 'person-erased', go: (page) => page.click('dialog:popover-open .danger') },
  ...OVERVIEW_STEPS,
  ...NO_MAIL_STEPS,
  ...MESSAGE_STEPS,
  ...OVERVIEW_LIVE_STEPS,
  ...MAIL_STEPS,
  { name: 'keys', go: (page, server) => page.goto(at(server, 'keys')) },
  {
    name: 'menu',
    isPerView: true,
    go: async (page, server) => {
      await page.goto(at(server, 'keys'))
      await openMenu(page)
    },
  },
  { name: 'key-new', go: (page, server) => page.goto(at(server, 'keys/new')) },
  { name: 'key-new-wrong', go: (page) => page.click('button.primary') },
  {
    name: 'key-made',
    go: async (page) => {
      await page.fill('#name', 'Production')
      await page.click('button.primary')
    },
  },
  {
    name: 'key-revoke',
    go: async (page, server) => {
      await page.goto(at(server, 'keys'))
      await page.click('[popovertarget^=revoke-key]')
    },
  },
  { name: 'key-revoked', go: (page) => page.click('dialog:popover-open .danger') },
  {
    name: 'secret-rotated',
    go: async (page) => {
      await page.click('[popovertarget=rotate]')
      await page.click('dialog:popover-open .primary')
    },
  },
  { name: 'keys-rotated', go: (page, server) => page.goto(at(server, 'keys')) },
  {
    name: 'keys-activity',
    go: async (page, server) => {
      await addCalls(server)
      await page.goto(at(server, 'keys'))
    },
  },
  {
    name: 'export',
    go: async (page, server) => {
      server.clock.tick(11 * 60_000)
      await page.goto(at(server, 'people/export?tag=beta&status=subscribed&seen=never'))
    },
  },
  {
    name: 'export-started',
    go: async (page) => {
      await page.fill('#confirmPassword', PASSWORD)
      // the next page must not open while the download begins
      await Promise.all([page.waitForEvent('download'), page.click('button.primary')])
    },
  },
  {
    name: 'key-confirm',
    go: async (page, server) => {
      server.clock.tick(11 * 60_000)
      await page.goto(at(server, 'keys/new'))
      await page.fill('#name', 'Staging')
      await page.click('button.primary')
    },
  },
  {
    name: 'key-confirmed',
    go: async (page) => {
      await page.fill('#confirmPassword', PASSWORD)
      await page.click('button.primary')
    },
  },
  ...APP_STEPS,
  { name: 'you', go: (page, server) => page.goto(at(server, 'you')) },
  {
    name: 'system',
    go: async (page, server) => {
      await fillSystem(server)
      await page.goto(at(server, 'system'))
    },
  },
  { name: 'system-tested', go: (page) => page.click('#alerts button') },
  {
    name: 'weekly-summary',
    isOpen: true,
    go: async (page, server) => {
      const [owner] = await server.parts().store.listOwners(server.first.accountId)
      await page.goto(
        `${server.url}/weekly-summary/${makeSummaryToken(server.parts().unsubscribeKey, owner?.id ?? '')}`,
      )
    },
  },
  { name: 'weekly-summary-off', isOpen: true, go: (page) => page.click('main button') },
  ...ACCOUNT_STEPS,
  ...TWO_STEP_STEPS,
  ...UNSUBSCRIBE_STEPS,
  ...CONFIRM_STEPS,
  ...TOPIC_STEPS,
]
