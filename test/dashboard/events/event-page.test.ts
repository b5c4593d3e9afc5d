import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { appOf } from '../browser.ts'
import { putMessage, sendDue } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { type EventPages, leadOf, openEvents, recordEvent } from './recording.ts'

let pages: EventPages
beforeEach(async () => {
  pages = await openEvents()
})
afterEach(() => pages.close())

const SLY = 'exe.\u202Egnp\u200B'

describe('one event', () => {
  const open = async () => {
    const [href] = await attributesOf(await pages.see(), '.feed .what', 'href')
    return pages.browser.get(href ?? '')
  }

  test('shows its properties, its facts and its person', async () => {
    await pages.record({
      properties: { headline: 'Spring', count: 2, isNew: true, none: null, empty: '', by: { a: [1] } },
    })
    const { status, html } = await open()
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['results_ready']])
    expect(await leadOf(html)).toBe('Event for bob@example.com, just now.')
    expect(await textOf(html, '.properties dt')).toEqual(['headline', 'count', 'isNew', 'none', 'empty', 'by'])
    expect(await textOf(html, '.properties dd')).toEqual([
      'Spring',
      '2',
      'true',
      'null',
      'empty',
      '{\n  "a": [\n    1\n  ]\n}',
    ])
    expect((await attributesOf(html, 'aside a', 'href'))[0]).toStartWith(`${pages.at('people')}/con_`)
  })

  test('hostile properties are text, and their JSON means the same', async () => {
    const properties = { [HOSTILE]: { [SLY]: SLY }, ['__proto__']: 1 }
    await pages.record({ properties: JSON.parse(`{"a":${JSON.stringify(properties)},"__proto__":"own"}`) })
    const { html } = await open()
    await expectHarmless(html)
    expect(html).not.toMatch(/[\u202E\u200B]/)
    const [json = ''] = await textOf(html, '#json')
    expect(JSON.parse(json)).toEqual(JSON.parse(`{"a":${JSON.stringify(properties)},"__proto__":"own"}`))
  })

  test('a page view shows its path', async () => {
    await pages.record({ name: '$page', path: '/results/81' })
    const { html } = await open()
    expect([await textOf(html, 'h1'), await textOf(html, '.sent-path')]).toEqual([['Page view'], ['/results/81']])
  })

  test('says if there are no properties', async () => {
    await pages.record({})
    expect(await textOf((await open()).html, '.empty h2')).toEqual(['No properties'])
  })

  test('shows the email that followed and its state', async () => {
    const app = await appOf(pages)
    await putMessage(pages, { app })
    await putMessage(pages, { app, name: 'Another' })
    await pages.record({ properties: { headline: 'Ready' } })
    await pages.record({ email: 'eve@example.com', properties: {} })
    await sendDue(pages)
    const [eve, bob] = await attributesOf(await pages.see(), '.feed .what', 'href')
    const { html } = await pages.browser.get(bob ?? '')
    expect(await textOf(html, '#mail .with-badge')).toEqual(['AnotherCaptured', 'A messageCaptured'])
    const [path] = await attributesOf(html, '#mail a', 'href')
    const delivery = await pages.browser.get(path ?? '')
    expect(await textOf(delivery.html, 'h1')).toEqual(['Email to bob@example.com'])
    expect(await textOf(delivery.html, 'main a[href*="/messages/"]')).toContain('Another')
    expect(await textOf((await pages.browser.get(eve ?? '')).html, '#mail .badge')).toEqual(['Not sent', 'Not sent'])
  })

  test('says if no email followed, and why', async () => {
    await pages.record({})
    const { html } = await open()
    expect(await textOf(html, '#mail p')).toEqual([expect.stringMatching(/^None\. This event triggered no message\./)])
    const [path] = await attributesOf(html, '#mail a', 'href')
    expect(path).toMatch(/#mail$/)
    expect((await pages.browser.get(path?.replace('#mail', '') ?? '')).status).toBe(200)
  })

  test('a page view promises no reasons where no message starts with it', async () => {
    await pages.record({ name: '$page', path: '/results/81' })
    const { html } = await open()
    expect(await textOf(html, '#mail p')).toEqual(['None. Opening this page triggers no live message.'])
    expect(await attributesOf(html, '#mail a', 'href')).toEqual([])
  })

  test('an event of another account is unknown', async () => {
    const { appId, accountId } = await pages.addAccount('eve@example.com', 'Other')
    await recordEvent(pages, await appOf(pages, accountId), {})
    const other = await pages.signedIn('eve@example.com')
    const [href = ''] = await attributesOf((await other.get(`/apps/${appId}/events`)).html, '.feed .what', 'href')
    expect((await other.get(href ?? '')).status).toBe(200)
    const id = href?.split('/').at(-1)
    for (const event of [id, 'evt_00000000001', 'evt_x', encodeURIComponent(HOSTILE)]) {
      const { status, html } = await pages.browser.get(pages.at(`events/${event}`))
      expect([event, status]).toEqual([event, 404])
      // the form of the theme leads back to the address
      await expectHarmless(html)
    }
  })
})
