/** Walks from drafts to a live message. */
import type { Page } from 'playwright-core'
import type { Served } from './chromium.ts'
import { HOSTILE, seedResults } from './seed.ts'

type Step = { name: string; isTall?: true; isPerView?: true; go(page: Page, server: Served): Promise<unknown> }

const at = ({ url, first }: Served, page: string): string => `${url}/apps/${first.appId}/${page}`
const named = (name: string): string => `[name="${name}"]`
/** A phone shows the text, the preview or the checks. */
const showPane = async (page: Page, pane: string): Promise<void> => {
  const choice = page.locator(`label[for=pane-${pane}]`)
  if (await choice.isVisible()) await choice.click()
}
const press = (page: Page, action: string) => page.click(`button[value="${action}"]:visible`)

export const MESSAGE_STEPS: Step[] = [
  { name: 'messages', go: (page, server) => page.goto(at(server, 'messages')) },
  {
    name: 'message-delete',
    go: async (page) => {
      await page.click('.message-name >> nth=0')
      await page.click('[popovertarget=delete]')
    },
  },
  { name: 'message-new', go: (page, server) => page.goto(at(server, 'messages/new')) },
  {
    name: 'message-wrong',
    isTall: true,
    go: async (page) => {
      await page.click('#trigger > summary')
      await page.fill(named('trigger.event'), HOSTILE)
      await page.click('#trigger > summary')
      await page.click('#wait > summary')
      await page.click('label[for=wait-minutes]')
      await page.click('#wait > summary')
      await press(page, 'save')
    },
  },
  {
    name: 'message-blocked',
    go: async (page, server) => {
      await page.goto(at(server, 'messages'))
      await page.click('.message-name >> nth=1')
      await page.fill(named('mail.preheader'), '{{ event.headline }')
      await press(page, 'save')
      await page.waitForSelector('.notice.done')
      await page.click('[popovertarget=go-live]')
    },
  },
  {
    name: 'message-draft',
    go: async (page, server) => {
      await page.goto(at(server, 'messages'))
      await page.click('.message-name >> nth=0')
    },
  },
  {
    name: 'message-rows',
    go: async (page) => {
      for (const kind of ['notDone', 'tagLacks', 'field', 'status']) {
        await page.click('.add-rule > summary')
        await press(page, `add onlyIf ${kind}`)
        await page.waitForSelector(`input[value=${kind}]`, { state: 'attached' })
        if (kind === 'tagLacks') await page.fill(named('onlyIf[4].lacks'), HOSTILE.slice(0, 40))
        // without scripts, Escape doesn't close it
        await page.click('.part[open] > summary')
      }
      await page.click('#trigger > summary')
      await press(page, 'add trigger.where')
      await page.fill(named('trigger.where[0].property'), HOSTILE)
    },
  },
  {
    name: 'message-simulated',
    isTall: true,
    go: async (page, server) => {
      // it asks before input is lost
      page.once('dialog', (dialog) => void dialog.accept())
      await page.goto(at(server, 'messages'))
      await page.click('.message-name >> nth=0')
      await press(page, 'simulate 30')
      await page.waitForSelector('.outcome')
    },
  },
  {
    name: 'message-tested',
    isTall: true,
    go: async (page) => {
      await showPane(page, 'checks')
      await press(page, 'test')
      await page.waitForSelector('#test .notice')
      await page.click('#test summary')
    },
  },
  { name: 'message-preview', isTall: true, isPerView: true, go: (page) => showPane(page, 'preview') },
  {
    name: 'message-go-live',
    isTall: true,
    go: async (page) => {
      await showPane(page, 'write')
      await page.fill(named('mail.subject'), '{{ event.headline }')
      await page.click('[popovertarget=go-live]')
    },
  },
  {
    name: 'message-refused',
    go: async (page) => {
      // as without scripts, where the button is enabled
      await page.locator('dialog:popover-open .primary').evaluate((button: HTMLButtonElement) => {
        button.disabled = false
        button.click()
      })
      await page.waitForSelector('.notice.error')
    },
  },
  {
    name: 'message-live',
    go: async (page) => {
      await showPane(page, 'write')
      await page.fill(named('mail.subject'), '{{ event.headline | default: "Ready" }}')
      await page.fill(
        named('mail.body'),
        `Hello {{ contact.firstName | default: "there" }}, {% for event in events %}${HOSTILE}{% endfor %}`,
      )
      await page.click('[popovertarget=go-live]')
      await page.click('dialog:popover-open .primary')
      await page.waitForSelector('.badge.good')
    },
  },
  {
    name: 'message-results-none',
    go: async (page) => {
      await page.click('.sections a >> nth=0')
      await page.waitForSelector('.empty')
    },
  },
  {
    name: 'message-results',
    go: async (page, server) => {
      await seedResults(server)
      await page.reload()
      await page.waitForSelector('.bars')
    },
  },
  {
    name: 'message-results-numbers',
    go: async (page) => {
      await page.goto(`${page.url()}?range=90`)
      await page.click('.day-bars summary')
    },
  },
  {
    name: 'message-results-wrong',
    go: async (page) => {
      await page.fill('#from', '2026-05-03')
      await page.fill('#to', '2026-05-02')
      await page.click('.result-range button')
      await page.waitForSelector('.notice.error')
      await page.click('.sections a >> nth=1')
    },
  },
  { name: 'message-pause', go: (page) => page.click('[popovertarget=pause]') },
  {
    name: 'message-versions',
    go: async (page) => {
      await page.click('dialog:popover-open .primary')
      await page.fill(named('mail.body'), 'Hello')
      await press(page, 'save')
      await page.click('a[href$="/versions"]')
    },
  },
  {
    name: 'message-restore',
    go: async (page) => {
      await page.click('tbody tr:last-child a')
      await page.click('[popovertarget=restore]')
    },
  },
]
