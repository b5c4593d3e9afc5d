import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { quiet } from './collector.ts'
import { isLong } from '../long-form.ts'
import { until } from '../waiting.ts'
import { identify, useBench, LOADED } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()
const GRANT = `service('consent', true)`
const WITHDRAW = `service('consent', false)`
const TRACK = `service('track', 'saved')`

const gated = { tag: { requiresConsent: true } }

/** Cookies and the keys of all storage. */
const STORED = `(async () => [
  document.cookie,
  ...Object.keys(localStorage),
  ...Object.keys(sessionStorage),
  ...(await indexedDB.databases()).map(({ name }) => name),
  ...await (window.caches?.keys() ?? []),
].filter(Boolean))()`

async function expectNothingStored(page: Page): Promise<void> {
  expect(await page.evaluate(STORED)).toEqual([])
  expect(await page.context().cookies()).toEqual([])
}

/** The same calls queued in the stub, and after loading, in one task and in several. */
const MOMENTS = ['in the stub', 'in one task', 'one by one'] as const

async function openWith(moment: (typeof MOMENTS)[number], calls: string[], served = gated) {
  bench.site().serve({ ...served, ...(moment === 'in the stub' ? { calls: calls.join(';') } : {}) })
  const opened = await bench.openPage()
  await opened.page.waitForFunction(LOADED)
  const parts = moment === 'in the stub' ? [] : moment === 'in one task' ? [calls.join(';')] : calls
  for (const part of parts) await opened.page.evaluate(part)
  return opened
}

/** Each case at all moments, or at one, in turn. */
const casesAt = <Case>(moment: (typeof MOMENTS)[number], cases: Case[]): Case[] =>
  cases.filter((_, index) => isLong || index % MOMENTS.length === MOMENTS.indexOf(moment))

describe.each(MOMENTS)('with consent required, %s', (moment) => {
  const cases: [name: string, calls: string[], reported: string[]][] = [
    ['consent, identify', [GRANT, IDENTIFY, TRACK], ['ada page /a', 'ada track saved /a']],
    ['identify, consent', [IDENTIFY, TRACK, GRANT], ['ada page /a', 'ada track saved /a']],
    ['no consent', [IDENTIFY, TRACK], []],
    ['consent, nobody', [GRANT, TRACK], []],
    ['refused, then given', [IDENTIFY, TRACK, WITHDRAW, GRANT], []],
    ['refused, given, identify', [IDENTIFY, TRACK, WITHDRAW, GRANT, IDENTIFY], ['ada page /a']],
    ['refused, identify, given', [WITHDRAW, IDENTIFY, GRANT], ['ada page /a']],
    ['given twice', [GRANT, IDENTIFY, GRANT], ['ada page /a']],
    ['reset before consent', [IDENTIFY, TRACK, `service('reset')`, GRANT], []],
  ]
  test.each(casesAt(moment, cases))('%s', async (_, calls, reported) => {
    const { page, said } = await openWith(moment, calls)
    await bench.expectReports(reported)
    await expectNothingStored(page)
    expect(said).toEqual([])
  })
})

describe('data-consent', () => {
  test.each(['', '=""', '="Required"', '="true"', '="false"', '="no"'])(
    '%s requires consent, like any value',
    async (value) => {
      const head = bench.site().tag().replace('data-site', `data-consent${value} data-site`)
      bench.site().serve({ head: `${head}<script>${IDENTIFY}</script>` })
      const { page } = await bench.openPage()
      await page.waitForFunction(LOADED)
      await bench.expectReports([])
      await page.evaluate(GRANT)
      await bench.expectReports(['ada page /a'])
    },
  )
})

describe('while consent is missing', () => {
  test('nothing but the script is requested', async () => {
    const { page } = await openWith('in the stub', [IDENTIFY, TRACK])
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await page.goto(`${bench.site().url}/c`)
    await bench.expectReports([])
    expect(bench.collector().recorded.every(({ url }) => url === '/s.js')).toBe(true)
    await expectNothingStored(page)
  })

  test('seen pages are never reported, waiting actions are', async () => {
    const { page } = await openWith('in the stub', [IDENTIFY, TRACK])
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await page.evaluate(`history.pushState(0, '', '/c')`)
    await page.evaluate(GRANT)
    await bench.expectReports(['ada track saved /a', 'ada page /c'])
  })

  test('only true gives consent', async () => {
    const { page } = await openWith('in the stub', [IDENTIFY])
    const answers = ['', '1', `'true'`, `'yes'`, 'null', 'undefined', '{}', '[true]', 'new Boolean(true)']
    for (const answer of answers) await page.evaluate(`service('consent', ${answer}); ${IDENTIFY}`)
    await bench.expectReports([])
    await page.evaluate(GRANT)
    await bench.expectReports(['ada page /a'])
  })
})

describe('withdrawn consent', () => {
  test('in the same task sends nothing, with the attribute or without', async () => {
    for (const served of [gated, { tag: { requiresConsent: false } }]) {
      await openWith('in the stub', [GRANT, IDENTIFY, TRACK, WITHDRAW], served)
      await openWith('in one task', [GRANT, IDENTIFY, TRACK, WITHDRAW], served)
    }
    await bench.expectReports([])
  })

  test('forgets the person until they are identified again', async () => {
    const { page } = await openWith('in the stub', [IDENTIFY], { tag: { requiresConsent: false } })
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`${TRACK}; ${WITHDRAW}; history.pushState(0, '', '/b')`)
    await page.evaluate(`${GRANT}; service('track', 'later')`)
    await bench.expectReports(['ada page /a'])
    await page.evaluate(IDENTIFY)
    await bench.expectReports(['ada page /a', 'ada track later /b', 'ada page /b'])
  })

  test.each(['undefined', 'null', '0', `'true'`])('by service("consent", %s)', async (answer) => {
    const { page } = await openWith('in the stub', [IDENTIFY], { tag: { requiresConsent: false } })
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`service('consent', ${answer}); ${TRACK}; history.pushState(0, '', '/b')`)
    await bench.expectReports(['ada page /a'])
  })

  test('drops a waiting retry', async () => {
    bench.collector().replyWith({ status: 503 })
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openAlone('/a', (context) => context.clock.install())
    await until(() => bench.collector().calls().length === 1, bench.collector().reported)
    await page.evaluate(WITHDRAW)
    await page.clock.runFor(300_000)
    await bench.expectReports(['ada page /a'])
  })

  test('stops retries of a pending request', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    bench.collector().replyWith({ status: 503, after: promise }, { status: 202 })
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openAlone('/a', (context) => context.clock.install())
    await until(() => bench.collector().calls().length === 1, bench.collector().reported)
    await page.evaluate(WITHDRAW)
    resolve()
    await quiet()
    await page.clock.runFor(300_000)
    await bench.expectReports(['ada page /a'])
  })

  test('reports no one when the page is left', async () => {
    const { page } = await openWith('in the stub', [IDENTIFY], { tag: { requiresConsent: false } })
    await bench.expectReports(['ada page /a'])
    bench.site().serve({ calls: '' })
    await page.evaluate(`${WITHDRAW}; location.href = '/b'`)
    await bench.expectReports(['ada page /a'])
  })
})

describe('Global Privacy Control', () => {
  const signal = `Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })`
  const respects = { respectsGpc: true }

  test.each([
    ['refuses, where the tag respects it', respects, signal, [IDENTIFY, TRACK], []],
    ['refuses until consent is given', respects, signal, [IDENTIFY, GRANT], ['ada page /a']],
    ['is not asked for, where the tag does not', {}, signal, [IDENTIFY], ['ada page /a']],
    ['that is off changes nothing', respects, '', [IDENTIFY], ['ada page /a']],
  ])('%s', async (_, tag, script, calls, reported) => {
    bench.site().serve({ head: `<script>${script}</script>${bench.site().tag(tag)}`, calls: calls.join(';') })
    await bench.openPage()
    await bench.expectReports(reported)
  })
})
