import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { until } from '../waiting.ts'

const TRY_MS = 120_000

let browser: Browser
let server: Served
beforeAll(async () => {
  browser = await openChromium()
  server = await serveTest()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

const at = (page: string) => `${server.url}/apps/${server.first.appId}/${page}`

/** A browser context with one signed-in tab per page. It stays open: closing one right after a sign-out can hang. */
async function openTabs(...paths: string[]) {
  const context = await browser.newContext()
  const first = await context.newPage()
  await signIn(first, server)
  const tabs = []
  for (const path of paths) {
    const tab = await context.newPage()
    await tab.goto(at(path))
    tabs.push(tab)
  }
  return { context, tabs }
}

type Tab = Awaited<ReturnType<typeof openTabs>>['tabs'][number]

const signOut = async (page: Tab) => {
  await page.click('form[action="/sign-out"] button')
  await page.waitForURL('**/sign-in')
}

const createKey = async (page: Tab | undefined): Promise<void> => {
  await page?.fill('#name', 'Production')
  await page?.click('text=Create the key')
  await page?.waitForSelector('#api-key')
}

/** Stays on the page whenever it asks; the list has the questions. */
const noteQuestions = (page: Tab | undefined): string[] => {
  const asked: string[] = []
  page?.on('dialog', (dialog) => {
    asked.push(dialog.type())
    void dialog.dismiss()
  })
  return asked
}

/** Opens a message in its editor. */
const openEditor = async (page: Tab | undefined): Promise<void> => {
  await page?.click('.message-name >> nth=0')
  await page?.waitForURL('**/messages/msg_*')
}

const isAtSignIn = (page: Tab | undefined): boolean => page?.url().includes('/sign-in') ?? false

describe('after signing out', () => {
  test(
    'other tabs show the sign-in page, also one with a filled form',
    async () => {
      const { tabs } = await openTabs('events', 'members', 'settings')
      const [events, members, settings] = tabs
      await settings?.fill('input[name=app]', 'Something typed')
      if (members) await signOut(members)
      for (const tab of [events, settings]) {
        await tab?.waitForURL('**/sign-in?next=**')
        expect(await tab?.textContent('body')).not.toContain('first@owner.example')
      }
      expect(events?.url()).toEndWith(`/sign-in?next=${encodeURIComponent(new URL(at('events')).pathname)}`)
    },
    TRY_MS,
  )

  test(
    'the Back button does not restore the page',
    async () => {
      const { tabs } = await openTabs('people')
      const [people] = tabs
      await people?.goto(at('members'))
      if (people) await signOut(people)
      for (let i = 0; i < 2; i++) {
        await people?.goBack()
        await people?.waitForURL('**/sign-in?next=**')
        expect(await people?.textContent('body')).not.toContain('first@owner.example')
      }
    },
    TRY_MS,
  )

  test(
    'a page from the back-forward cache is hidden until it is checked',
    async () => {
      const { context, tabs } = await openTabs('people')
      const [people] = tabs
      const asked = Promise.withResolvers<void>()
      const mayGoOn = Promise.withResolvers<void>()
      await people?.route('**/session', async (route) => {
        asked.resolve()
        await mayGoOn.promise
        await route.continue()
      })
      await context.clearCookies({ name: /session/ })
      await people?.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
      await asked.promise
      expect(await people?.isVisible('body')).toBe(false)
      mayGoOn.resolve()
      // the other tab leaves too
      for (const tab of context.pages()) await tab.waitForURL('**/sign-in?next=**')
    },
    TRY_MS,
  )

  test(
    'the answer to a form closes without submitting the form again',
    async () => {
      const { tabs } = await openTabs('keys/new', 'people')
      const [keys, people] = tabs
      await createKey(keys)
      const sent: string[] = []
      keys?.on('request', (request) => void (request.method() === 'POST' && sent.push(request.url())))
      if (people) await signOut(people)
      // waitForURL fails if a second navigation replaces the first
      await until(
        () => keys?.url().includes('/sign-in?next='),
        () => keys?.url(),
      )
      expect(keys?.url()).toEndWith(`/sign-in?next=${encodeURIComponent(new URL(at('keys')).pathname)}`)
      expect(sent).toEqual([])
    },
    TRY_MS,
  )

  test(
    'a secret that was not stored is not asked about',
    async () => {
      const { tabs } = await openTabs('keys/new', 'settings')
      const [keys, settings] = tabs
      await createKey(keys)
      await settings?.fill('input[name=app]', 'Something typed')
      const asked = noteQuestions(keys)
      await keys?.click('form[action="/sign-out"] button', { noWaitAfter: true })
      await until(
        () => asked.length > 0 || (isAtSignIn(keys) && isAtSignIn(settings)),
        () => [keys?.url(), settings?.url()],
      )
      expect(asked).toEqual([])
    },
    TRY_MS,
  )

  test(
    'a secret leaves the screen without a question when the session ends elsewhere',
    async () => {
      const { context, tabs } = await openTabs('keys/new', 'people')
      const [keys, people] = tabs
      await createKey(keys)
      const asked = noteQuestions(keys)
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await until(
        () => asked.length > 0 || isAtSignIn(keys),
        () => keys?.url(),
      )
      expect([asked, isAtSignIn(keys)]).toEqual([[], true])
    },
    TRY_MS,
  )

  test(
    'so it does after another language of the samples was chosen',
    async () => {
      const { context, tabs } = await openTabs('activation', 'people')
      const [activation, people] = tabs
      await activation?.click('form[action$="/activation/key"] button')
      await activation?.waitForSelector('#api-key')
      await activation?.locator('[data-languages] > label').nth(1).click()
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await until(
        () => isAtSignIn(activation),
        () => activation?.url(),
      )
    },
    TRY_MS,
  )

  test(
    'input stays when the session ends elsewhere, and can still be submitted',
    async () => {
      const { context, tabs } = await openTabs('settings', 'people')
      const [settings, people] = tabs
      await settings?.fill('input[name=app]', 'Renamed late')
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await people?.waitForURL('**/sign-in?next=**')
      await Bun.sleep(500)
      expect(await settings?.inputValue('input[name=app]')).toBe('Renamed late')
    },
    TRY_MS,
  )

  test(
    'so it does after another tab of the samples or another view was chosen',
    async () => {
      const { context, tabs } = await openTabs('activation', 'messages', 'people')
      const [activation, editor, people] = tabs
      await activation?.click('form[action$="/activation/key"] button')
      await activation?.waitForSelector('#api-key')
      await activation?.locator('.tabs:not([data-languages]) > label').nth(1).click()
      await openEditor(editor)
      await editor?.click('label[for=view-text]')
      await editor?.check('#view-dark')
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await until(
        () => isAtSignIn(activation) && isAtSignIn(editor),
        () => [activation?.url(), editor?.url()],
      )
    },
    TRY_MS,
  )

  test(
    'a choice in the message editor stays when the session ends elsewhere',
    async () => {
      const { context, tabs } = await openTabs('messages', 'people')
      const [editor, people] = tabs
      await openEditor(editor)
      await editor?.click('#again > summary')
      await editor?.click('label[for=again-everyHours]')
      const asked = noteQuestions(editor)
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await people?.waitForURL('**/sign-in?next=**')
      await Bun.sleep(500)
      expect(asked).toEqual([])
      expect(await editor?.isChecked('#again-everyHours')).toBe(true)
    },
    TRY_MS,
  )

  test(
    'a chosen option stays when the session ends elsewhere',
    async () => {
      const { context, tabs } = await openTabs('settings', 'people')
      const [settings, people] = tabs
      await settings?.selectOption('#timezone', 'Europe/Zurich')
      await context.clearCookies({ name: /session/ })
      await people?.reload()
      await people?.waitForURL('**/sign-in?next=**')
      await Bun.sleep(500)
      expect(await settings?.inputValue('#timezone')).toBe('Europe/Zurich')
    },
    TRY_MS,
  )
})

describe('while signing out asks about unsaved changes', () => {
  /** Two editors with unsaved text. The first one was asked about when signing out. */
  async function openAsked() {
    const { context, tabs } = await openTabs('messages', 'messages')
    const [first, second] = tabs
    for (const tab of tabs) {
      await openEditor(tab)
      await tab.fill('[name="mail.body"]', 'Not saved yet')
    }
    const asking = first?.waitForEvent('dialog')
    await first?.click('form[action="/sign-out"] button', { noWaitAfter: true })
    return { context, first, second, question: await asking }
  }
  const readBody = (page: Tab | undefined) => page?.inputValue('[name="mail.body"]')

  test(
    'other tabs stay, also when the member stays and later leaves the page',
    async () => {
      const { first, second, question } = await openAsked()
      await Bun.sleep(500)
      expect(await readBody(second)).toBe('Not saved yet')
      await question?.dismiss()
      expect(await readBody(first)).toBe('Not saved yet')
      const sent: unknown[] = []
      await second?.exposeFunction('note', (data: unknown) => void sent.push(data))
      await second?.evaluate(`new BroadcastChannel('eventpost-session').onmessage = ({ data }) => note(data)`)
      first?.once('dialog', (dialog) => void dialog.accept())
      await first?.click('nav >> text=People', { noWaitAfter: true })
      await first?.waitForURL('**/people')
      await Bun.sleep(500)
      expect(await readBody(second)).toBe('Not saved yet')
      expect(sent).toEqual([])
    },
    TRY_MS,
  )

  test(
    'other tabs close without a question once the member leaves',
    async () => {
      const { first, second, question } = await openAsked()
      const asked = noteQuestions(second)
      await question?.accept()
      await until(
        () => asked.length > 0 || (isAtSignIn(first) && isAtSignIn(second)),
        () => [first?.url(), second?.url()],
      )
      expect(asked).toEqual([])
    },
    TRY_MS,
  )
})
