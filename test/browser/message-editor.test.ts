import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { BATCH, HOUR } from '../helper.ts'
import { isLong } from '../long-form.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'

const TRY_MS = 120_000
/** Measured in the long form only, because a busy machine may take longer. */
const SHOWN_MS = isLong ? 500 : Infinity
const MOST_TIMES = 30
const named = (name: string): string => `[name="${name}"]`

let browser: Browser
let server: Served
let context: BrowserContext
let page: Page
const complaints: string[] = []

beforeAll(async () => {
  browser = await openChromium()
  server = await serveTest()
  context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  page = await context.newPage()
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  page.on('pageerror', (error) => void complaints.push(error.message))
  await signIn(page, server)
  const properties = { headline: 'Twelve & <b>one</b>', url: 'https://app.first.example/results/1' }
  const event = { app: server.first.appId, email: 'bob@example.com', event: 'results_ready', createContact: true }
  // so that its wait is over
  server.clock.wallMs -= 5 * HOUR
  await server.call('POST', BATCH, { body: { events: [{ ...event, properties }] } })
  server.clock.wallMs += 5 * HOUR
}, TRY_MS)
afterAll(async () => {
  await context?.close()
  await server?.close()
  await browser?.close()
})

const open = async (path: string): Promise<void> => {
  await page.goto(`${server.url}/apps/${server.first.appId}/${path}`)
}
const openMessage = async (nth: number): Promise<void> => {
  await open('messages')
  await page.click(`.message-name >> nth=${nth}`)
  await page.waitForURL('**/messages/msg_*')
}
/** Text of the visible preview. */
const mail = () => page.frameLocator('.screen:visible iframe >> nth=0').locator('body')

/** Whether the label of a field is below the buttons that stay in view. */
const showsLabel = (field: string): string => `(() => {
  const label = document.querySelector('${named(field)}').labels[0].getBoundingClientRect()
  return label.height > 0 && label.top >= document.querySelector('.page-head').getBoundingClientRect().bottom
})()`

describe('the editor', () => {
  test.each(['holdback', 'goal.event'])(
    'opens the part of %s for a link to it, with its label below the buttons',
    async (field) => {
      await openMessage(0)
      await page.setViewportSize({ width: 1440, height: 500 })
      const address = `${page.url()}#${field}`
      await page.goto('about:blank')
      await page.goto(address)
      await page.waitForSelector(named(field))
      expect(await page.evaluate<boolean>(showsLabel(field))).toBe(true)
      await page.setViewportSize({ width: 1440, height: 900 })
    },
    TRY_MS,
  )

  test(
    'previews input within half a second on phone, desktop and as text, and Back leaves the page',
    async () => {
      await openMessage(0)
      await mail().getByText('Twelve & <b>one</b>').waitFor()
      const times: number[] = []
      // beside other tests the machine may be busy for a while
      for (let nth = 1; nth <= MOST_TIMES && (nth <= 3 || Math.min(...times) >= SHOWN_MS); nth += 1) {
        const words = `Typed ${nth} times`
        const typedAt = performance.now()
        await page.fill(named('mail.body'), `${words} for {{ contact.email }}`)
        await mail().getByText(`${words} for bob@example.com`).waitFor()
        times.push(performance.now() - typedAt)
      }
      expect(Math.min(...times)).toBeLessThan(SHOWN_MS)
      expect(await page.locator('.screen.phone iframe').count()).toBe(1)
      await page.click('label[for=view-desktop]')
      await mail().getByText(`Typed ${times.length} times for bob@example.com`).waitFor()
      await page.click('label[for=view-text]')
      expect(await page.textContent('[data-mail-part=text]')).toContain(
        `Typed ${times.length} times for bob@example.com`,
      )
      const asked = page.waitForEvent('dialog')
      const back = page.goBack()
      expect((await asked).type()).toBe('beforeunload')
      await (await asked).accept()
      await back
      expect(await page.textContent('h1')).toBe('Messages')
    },
    TRY_MS,
  )

  test(
    'shows what is missing, and keeps the last preview',
    async () => {
      await openMessage(0)
      await mail().getByText('See your results').waitFor()
      await page.fill(named('mail.subject'), '{{ event.total }}')
      await page.waitForSelector('#preview-said .notice')
      expect(await page.textContent('#preview-said')).toContain('event.total has neither a value nor a fallback')
      expect(await mail().textContent()).toContain('See your results')
      await page.fill(named('mail.subject'), '{{ event.headline }}')
      await page.waitForSelector('#preview-said .notice', { state: 'detached' })
      expect(await page.textContent('[data-mail-part=subject]')).toBe('Twelve & <b>one</b>')
    },
    TRY_MS,
  )

  test(
    'adds and removes rules in place, and keeps input, scroll and focus',
    async () => {
      await page.click('summary:has-text("Name, sender and category")')
      await page.fill(named('name'), 'Typed and not saved')
      await page.evaluate('scrollTo(0, 100)')
      await page.click('.add-rule > summary')
      await page.click('button[value="add onlyIf tagLacks"]')
      await page.waitForSelector(named('onlyIf[3].lacks'))
      expect(await page.evaluate<string>('document.activeElement.name')).toBe('onlyIf[3].lacks')
      expect(Number(await page.evaluate('scrollY'))).toBe(100)
      expect(await page.inputValue(named('name'))).toBe('Typed and not saved')
      await page.keyboard.type('vip')
      await page.waitForSelector('.sentence:has-text("they don\'t have the tag “vip”")')
      await page.keyboard.press('Enter')
      await page.waitForSelector(named('onlyIf[3].lacks'), { state: 'hidden' })
      await page.click('button[value="remove onlyIf 0"]')
      await page.waitForSelector(named('onlyIf[3].lacks'), { state: 'detached' })
      expect(await page.inputValue(named('onlyIf[2].lacks'))).toBe('vip')
      await page.click('#onlyIf\\[2\\] > summary')
      await page.fill(named('onlyIf[2].lacks'), '')
      await page.keyboard.press('Escape')
      await page.click('summary:has-text("Simulation")')
      await page.click('button[value="simulate 7"]')
      await page.waitForSelector('.notice.error')
      await page.waitForLoadState('networkidle')
      expect(await page.isVisible('.notice.error')).toBe(true)
      expect(await page.isVisible(named('onlyIf[2].lacks'))).toBe(true)
      expect(await page.inputValue(named('name'))).toBe('Typed and not saved')
    },
    TRY_MS,
  )

  test(
    'has no gap before the comma after a rule',
    async () => {
      await openMessage(0)
      const gap = await page.evaluate<number>(`(() => {
        const comma = document.createRange()
        comma.selectNodeContents(document.querySelector('.rule-part:last-of-type').lastChild)
        const cross = document.querySelector('.rule-part:last-of-type .remove path').getBoundingClientRect()
        return comma.getBoundingClientRect().left - cross.right
      })()`)
      expect(gap).toBeGreaterThanOrEqual(0)
      expect(gap).toBeLessThan(2)
    },
    TRY_MS,
  )

  test(
    'changes the sentence, the checklist and the count while typing, and fixes with one click',
    async () => {
      await openMessage(0)
      await page.waitForSelector(
        '#reach:has-text("Simulated as if live for the last 30 days: the only person who triggered it would get it.")',
      )
      await page.click('#wait > summary')
      await page.fill(named('wait.minutes'), '2')
      await page.selectOption(named('wait.unit'), 'hours')
      await page.waitForSelector('#wait-says:has-text("wait 2 hours, then send")')
      await page.keyboard.press('Escape')
      expect(await page.isVisible(named('wait.minutes'))).toBe(false)
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('wait-says')
      await page.fill(named('mail.subject'), 'About {{ event.total }}')
      await page.waitForSelector(
        '.checks .wrong:has-text("`event.total` is missing"), .checks .wrong:has-text("event.total is missing")',
      )
      await page.waitForSelector(
        `#reach:has-text("Simulated as if live with unsaved changes"):has-text("wouldn't get it.")`,
      )
      // of separate boxes, only the blanks between them would be underlined
      const word = page.locator('.checks .wrong a code > span').first()
      expect(await word.evaluate((span) => getComputedStyle(span).display)).toBe('inline')
      await page.click('.checks button:has-text("Leave it out if there is no total")')
      await page.waitForSelector('.checks .wrong', { state: 'detached' })
      expect(await page.inputValue(named('mail.subject'))).toBe(
        'About {% if event.total %}{{ event.total }}{% endif %}',
      )
      await page.waitForSelector('#reach:has-text("triggered it would get it.")')
      await page.fill(named('mail.subject'), '')
      await page.click('.chip:has-text("event.headline")')
      expect(await page.inputValue(named('mail.subject'))).toBe('{{ event.headline }}')
      expect(await page.locator('.chip').allTextContents()).toEqual([
        'event.headline',
        'event.url',
        'contact.firstName',
      ])
    },
    TRY_MS,
  )

  test(
    'can go live only while nothing is wrong, and leads from the dialog to what is',
    async () => {
      await openMessage(0)
      const live = page.locator('#go-live [value=live]')
      const subject = page.locator(named('mail.subject'))
      await page.click('[popovertarget=go-live]')
      expect(await live.isEnabled()).toBe(true)
      await page.keyboard.press('Escape')
      const text = await subject.inputValue()
      await subject.fill('{{ event.headline')
      await page.waitForSelector('#go-live [value=live]:disabled', { state: 'attached' })
      await page.waitForSelector('#reach:has-text("fix the problem in the email first")')
      const fault = page.locator('[id="mail.subject-fault"]')
      const marks = () =>
        subject.evaluate((field) => ['aria-invalid', 'aria-describedby'].map((name) => field.getAttribute(name)))
      expect(await fault.textContent()).toBe('Error: “{{ event.headline” does not end with }}.')
      expect(await marks()).toEqual(['true', 'mail.subject-fault'])
      await subject.fill('{{ event.url')
      await page.waitForSelector('.fault:has-text("{{ event.url”")')
      expect(await fault.count()).toBe(1)
      await page.click('[popovertarget=go-live]')
      await page.click('#go-live-checks a:has-text("Email")')
      await page.waitForSelector('#go-live', { state: 'hidden' })
      expect(await subject.evaluate((field) => field === document.activeElement)).toBe(true)
      await subject.fill(text)
      await page.waitForSelector('#go-live [value=live]:enabled', { state: 'attached' })
      await fault.waitFor({ state: 'detached' })
      expect(await marks()).toEqual([null, null])
    },
    TRY_MS,
  )

  test(
    'says what is wrong with a field now, not what was wrong with its last text',
    async () => {
      await openMessage(0)
      const subject = page.locator(named('mail.subject'))
      const text = await subject.inputValue()
      const fault = page.locator('[id="mail.subject-fault"]')
      await subject.fill('Hello {{ event.nothing }}')
      await fault.getByText('event.nothing is missing').waitFor()
      await subject.fill('')
      await fault.getByText('Enter a subject').waitFor()
      expect(await fault.textContent()).not.toContain('event.nothing')
      await subject.fill(text)
      await fault.waitFor({ state: 'detached' })
    },
    TRY_MS,
  )

  test(
    'counts nobody while the trigger is empty',
    async () => {
      await openMessage(0)
      const reach = page.locator('#reach')
      await reach.getByText('the only person who triggered it would get it.').waitFor()
      await page.click('#trigger > summary')
      await page.fill(named('trigger.event'), '')
      await reach.getByText("Recipients can't be counted: complete the trigger and rules first.").waitFor()
      await page.fill(named('trigger.event'), 'results_ready')
      await reach.getByText('the only person who triggered it would get it.').waitFor()
      await page.keyboard.press('Escape')
      await page.fill(named('mail.body'), '')
      await reach.getByText("Recipients can't be counted: finish the email first.").waitFor()
    },
    TRY_MS,
  )

  test(
    'closes a part of the sentence with Done, below the sentence and without saving',
    async () => {
      await openMessage(0)
      await page.click('#wait > summary')
      const [sentence, fields] = [await page.locator('.sentence').boundingBox(), page.locator('#wait > .part-fields')]
      const top = (await fields.boundingBox())?.y ?? 0
      expect(top).toBeGreaterThanOrEqual((sentence?.y ?? 0) + (sentence?.height ?? 0))
      const url = page.url()
      await page.click('#wait .part-done > button')
      await fields.waitFor({ state: 'hidden' })
      expect([page.url(), await page.evaluate(() => document.activeElement?.id)]).toEqual([url, 'wait-says'])
    },
    TRY_MS,
  )

  test(
    'no longer marks a part of the sentence once it is corrected',
    async () => {
      await openMessage(0)
      await page.click('#wait > summary')
      await page.fill(named('wait.minutes'), '0.5')
      await page.locator('form:has(#wait)').evaluate((form) => void ((form as HTMLFormElement).noValidate = true))
      await page.click('[name=do][value=save]')
      await page.waitForSelector('#wait.wrong .field.wrong')
      await page.fill(named('wait.minutes'), '7')
      await page.waitForSelector('#wait:not(.wrong)')
      await page.click('#wait .part-done > button')
      expect(await page.locator('#wait > summary').innerText()).toContain('7 minutes')
    },
    TRY_MS,
  )

  test(
    'opens an added language with the focus in its subject, as an unsaved change',
    async () => {
      await openMessage(0)
      const unsaved = page.locator('#unsaved')
      expect(await unsaved.isVisible()).toBe(false)
      await page.click('#languages > summary')
      await page.fill(named('newVariant'), 'de')
      await page.press(named('newVariant'), 'Enter')
      const subject = page.locator(named('mail.variants.de.subject'))
      await subject.waitFor()
      expect(await subject.evaluate((field) => field === document.activeElement)).toBe(true)
      expect(await unsaved.isVisible()).toBe(true)
      expect(
        await page
          .locator(`${named('language')} > option`)
          .last()
          .textContent(),
      ).toBe('German (de)')
      const asked = page.waitForEvent('dialog')
      const left = page.goto(`${server.url}/apps/${server.first.appId}/people`)
      expect((await asked).type()).toBe('beforeunload')
      await (await asked).accept()
      await left
    },
    TRY_MS,
  )

  test(
    'brings the list of people into view where its button asks for it',
    async () => {
      await openMessage(0)
      await page.click('text=See who')
      await page.waitForSelector('#simulation[open] :is(.outcome, .empty)')
      const { top, covered } = await page.evaluate(() => {
        const { top } = document.querySelector('#simulation > summary')?.getBoundingClientRect() ?? { top: -1 }
        return { top, covered: document.querySelector('.page-head')?.getBoundingClientRect().bottom ?? 0 }
      })
      expect(top).toBeGreaterThanOrEqual(covered)
      expect(top).toBeLessThan(await page.evaluate(() => innerHeight))
      expect(await page.evaluate(() => document.activeElement?.closest('details')?.id)).toBe('simulation')
    },
    TRY_MS,
  )

  test(
    'saves with Enter and with Ctrl+S, simulates in place, and asks before going live',
    async () => {
      page.once('dialog', (dialog) => void dialog.accept())
      await openMessage(1)
      await page.fill(named('mail.preheader'), 'By the keyboard')
      await page.press(named('mail.preheader'), 'Enter')
      await page.waitForSelector('.notice.done')
      expect(await page.inputValue(named('mail.preheader'))).toBe('By the keyboard')
      const text = 'Saved by keyboard{% for event in events %}.{% endfor %}'
      await page.fill(named('mail.body'), text)
      await page.keyboard.press('Control+s')
      await page.waitForSelector('.notice.done')
      await page.waitForFunction(`document.querySelector('[name="mail.body"]').defaultValue === '${text}'`)
      await page.click('summary:has-text("Name, sender and category")')
      await page.fill(named('name'), 'Not saved yet')
      await page.click('summary:has-text("Simulation")')
      await page.click('button[value="simulate 7"]')
      await page.waitForSelector('.outcome')
      // so that the tables of all outcomes have the same columns
      await page.evaluate(`document.querySelector('.outcome').open = true`)
      const [person = 0, all = 1] = await page
        .locator('.outcome[open] th:first-child, .outcome[open] table')
        .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().width).toSorted((a, b) => a - b))
      expect(person / all).toBeCloseTo(0.3, 2)
      expect(await page.inputValue(named('name'))).toBe('Not saved yet')
      await page.click('#wait > summary')
      await page.fill(named('wait.minutes'), '2')
      await page.waitForSelector('#go-live-says:has-text("2 days after")', { state: 'attached' })
      await page.click('[popovertarget=go-live]')
      await page.click('dialog:popover-open .primary')
      await page.waitForSelector('.page-head .badge.good')
      expect(await page.textContent('h1')).toBe('Not saved yet')
    },
    TRY_MS,
  )

  test('causes no browser errors', () => {
    // refusals appear there too
    expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([])
  })
})
