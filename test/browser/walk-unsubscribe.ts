/** Walks through the pages behind the unsubscribe link of an email. */
import type { Page } from 'playwright-core'
import { makeUnsubscribeToken, TEST_TOKEN } from '../../src/people/unsubscribe.ts'
import type { Served } from './chromium.ts'

type Step = { name: string; isOpen?: true; go(page: Page, server: Served): Promise<unknown> }

async function linkOf({ parts, first, url }: Served, email: string): Promise<string> {
  const { store, unsubscribeKey } = parts()
  const app = await store.findAppByPublicId(first.appId)
  const contact = app && (await store.findContact(app.id, email))
  return `${url}/u/${makeUnsubscribeToken(unsubscribeKey, contact?.id ?? 0)}`
}

export const UNSUBSCRIBE_STEPS: Step[] = [
  {
    name: 'unsubscribe',
    isOpen: true,
    go: async (page, server) => page.goto(await linkOf(server, 'hedy@example.com')),
  },
  { name: 'unsubscribe-done', isOpen: true, go: (page) => page.click('main .primary') },
  { name: 'unsubscribe-undone', isOpen: true, go: (page) => page.click('main form .button') },
  { name: 'unsubscribe-test', isOpen: true, go: (page, { url }) => page.goto(`${url}/u/${TEST_TOKEN}`) },
  { name: 'unsubscribe-unknown', isOpen: true, go: (page, { url }) => page.goto(`${url}/u/nothing`) },
]
