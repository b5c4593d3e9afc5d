import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { sendEvent } from '../messages/mailing.ts'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const ADA = 'ada@example.com'
let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const addApp = async (accountId: string, publicId: string, name: string): Promise<void> => {
  const app = { publicId, siteId: `site_${publicId}`, name, homeUrl: null, hosts: [] }
  await pages.store.createApp({ accountId, actor: 'test', at: pages.clock.now(), app })
}

test('Activation stays in the sidebar while it is open, once something arrived', async () => {
  const browser = await pages.signedIn()
  const itemsOf = async (page: string) => {
    const { html } = await browser.get(pages.at(page))
    const items = await textOf(html, '.sidebar > ul a')
    const listed = items.filter((name) => name === 'Overview' || name === 'Activation')
    return [await textOf(html, '.sidebar [aria-current=page]'), listed]
  }
  expect(await itemsOf('activation')).toEqual([['Activation'], ['Activation']])
  await sendEvent(pages, { app: await appOf(pages), email: 'bob@example.com' })
  const [current, listed] = await itemsOf('activation')
  expect([current, listed?.toSorted()]).toEqual([['Activation'], ['Activation', 'Overview']])
  expect(await itemsOf('events')).toEqual([['Events'], ['Overview']])
})

describe('the switcher', () => {
  test('lists the apps of the account, with links to the same page', async () => {
    for (const [index, name] of [HOSTILE, 'Second'].entries()) await addApp(pages.begun.accountId, `app_${index}`, name)
    const { html } = await (await pages.signedIn()).get('/apps/app_0/you')
    expect(await attributesOf(html, '.menu a', 'href')).toEqual([
      pages.at('you'),
      '/apps/app_0/you',
      '/apps/app_1/you',
      '/apps/app_0/new-app',
    ])
    expect(await textOf(html, '.menu p')).toEqual(['Account Engine'])
    expect(await textOf(html, '.menu a[aria-current]')).toEqual([HOSTILE])
    expect(await textOf(html, '.menu .more')).toEqual(['New app'])
    await expectHarmless(html)
  })

  test('groups apps by account, and marks the current one', async () => {
    const zoo = await pages.addAccount('zoe@example.com', 'zoo')
    const hostile = await pages.addAccount('eve@example.com', HOSTILE)
    const theirs = await pages.addAccount('bob@example.com', 'Nobody sees it')
    await addApp(zoo.accountId, 'app_2', 'Aviary')
    await pages.addMember(ADA, 'viewer', zoo.accountId)
    await pages.addMember(ADA, 'owner', hostile.accountId)
    const browser = await pages.signedIn()
    const { html } = await browser.get('/apps/app_2/events')
    expect(await textOf(html, '.menu p')).toEqual([HOSTILE, 'Engine', 'zoo'].map((name) => `Account ${name}`))
    expect(await attributesOf(html, '.menu a', 'href')).toEqual(
      [hostile.appId, pages.begun.appId, zoo.appId, 'app_2'].map((app) => `/apps/${app}/events`),
    )
    expect(await textOf(html, '.menu a[aria-current]')).toEqual(['Aviary'])
    expect(await textOf(html, '.switcher summary span')).toEqual(['AviaryAccount zoo'])
    expect(html).not.toContain(theirs.appId)
    await expectHarmless(html)
    // the current app's account gets it
    const own = await browser.get(pages.at('new-app'))
    expect(await textOf(own.html, '.menu .more')).toEqual(['New app in account Engine'])
    expect(await attributesOf(own.html, '.menu li a', 'href')).toContain('/apps/app_2/overview')
  })

  test('labels each group for screen readers', async () => {
    const zoo = await pages.addAccount('zoe@example.com', 'zoo')
    await pages.addMember(ADA, 'viewer', zoo.accountId)
    const { html } = await (await pages.signedIn()).get(pages.at('you'))
    const named = await attributesOf(html, '.menu ul', 'aria-labelledby')
    expect([named.length, await attributesOf(html, '.menu p', 'id')]).toEqual([2, named])
  })
})
