/** Calls of snippet/snippet.ts: identify, reset, track, and invalid ones. */
import { describe, expect, test } from 'bun:test'
import { until } from '../waiting.ts'
import { identify, proofOf, SITE_ID, useBench, LOADED } from './site.ts'

const bench = useBench()
const GRACE = 'grace@example.com'

const WARNINGS = {
  call: 'unknown call: use identify, track, consent or reset',
  identify: 'identify needs an email and a signature of 64 lowercase hex digits',
  track: 'track needs a name such as export_clicked',
}

const INVALID: [name: keyof typeof WARNINGS, calls: string[]][] = [
  [
    'call',
    [
      'service()',
      "service('nothing')",
      "service('constructor', 1)",
      "service('__proto__')",
      'service({ toString() { throw 1 } })',
      "service(Symbol('identify'))",
      "service(['identify'])",
    ],
  ],
  [
    'identify',
    [
      "service('identify')",
      "service('identify', null)",
      "service('identify', 'ada@example.com')",
      "service('identify', { email: 'ada@example.com' })",
      identify(''),
      identify('  '),
      identify('ada@example.com', ''),
      identify('ada@example.com', 'A'.repeat(64)),
      identify('ada@example.com', 'a'.repeat(63)),
      identify('ada@example.com', `${'a'.repeat(64)}\n`),
      `service('identify', { email: ['ada@example.com'], signature: '${'a'.repeat(64)}' })`,
      `service('identify', { email: 'ada@example.com', signature: ['${'a'.repeat(64)}'] })`,
    ],
  ],
  [
    'track',
    [
      "service('track')",
      "service('track', '')",
      "service('track', 'two words')",
      "service('track', 'größe')",
      "service('track', 'saved\\n')",
      `service('track', '${'x'.repeat(65)}')`,
      "service('track', ['saved'])",
      "service('track', { toString: () => 'saved' })",
    ],
  ],
]

describe('a call', () => {
  test('works before and after the script loads', async () => {
    bench.site().serve({ calls: `${identify()}; service('track', 'before')` })
    const { page } = await bench.openPage('/a')
    await bench.expectReports(['ada page /a', 'ada track before /a'])
    await page.evaluate(`service('track', 'after')`)
    await bench.expectReports(['ada page /a', 'ada track before /a', 'ada track after /a'])
    const [first, second, ...more] = bench.collector().bodies()
    expect(more).toEqual([])
    expect(second?.id.split('.')[0]).toBe(first?.id.split('.')[0] ?? '')
    expect(first).toEqual({
      v: 1,
      site: SITE_ID,
      ...proofOf('ada@example.com'),
      id: expect.stringMatching(/^[!-~]{1,60}\.\d+$/),
      events: expect.any(Array),
    })
    for (const { age } of first?.events ?? []) expect(age).toBeWithin(0, 5_000)
  })

  test.each(INVALID)('that is no %s answers nothing, warns once and sends nothing', async (name, calls) => {
    const { page, said } = await bench.openPage()
    await page.waitForFunction(LOADED)
    for (const call of calls) expect(await page.evaluate(`${call} === undefined`)).toBe(true)
    await bench.expectReports([])
    expect(said).toEqual([`service: ${WARNINGS[name]}`])
    await page.evaluate(identify())
    await bench.expectReports(['ada page /a'])
  })

  test.each([
    ["service('identify', { get email() { throw new Error('no') } })"],
    ["(console.warn = () => { throw new Error('no') }, service('nothing'))"],
    ["(({ proxy, revoke }) => (revoke(), service('identify', proxy)))(Proxy.revocable({}, {}))"],
  ])('%s causes no error', async (call) => {
    const { page, said } = await bench.openPage()
    await page.waitForFunction(LOADED)
    expect(await page.evaluate(call)).toBeUndefined()
    await page.evaluate(identify())
    await bench.expectReports(['ada page /a'])
    expect(said).toEqual([])
  })

  test('that throws does not end the replay', async () => {
    const junk = `null, 7, 'text', [], { 0: 'track' }, [{ toString() { throw 1 } }]`
    const hostile = `service('identify', { get email() { throw new Error('no') } })`
    bench.site().serve({ calls: `${identify()}; ${hostile}; service.q.push(${junk}); service('track', 'still')` })
    await bench.openPage()
    await bench.expectReports(['ada page /a', 'ada track still /a'])
  })

  test('through a saved stub or queue still works', async () => {
    bench.site().serve({ calls: `service('track', 'zero'); window.kept = { stub: service, queue: service.q }` })
    const { page } = await bench.openPage()
    await page.waitForFunction(LOADED)
    expect(await page.evaluate('kept.stub !== service')).toBe(true)
    await page.evaluate(`kept.stub('track', 'one'); kept.queue.push(['track', 'two']); kept.stub(...${toCall(GRACE)})`)
    await bench.expectReports(['zero', 'one', 'two'].map((name) => `grace track ${name} /a`).concat('grace page /a'))
  })
})

const toCall = (email: string): string => JSON.stringify(['identify', proofOf(email)])

describe('identify', () => {
  test('is not called: nothing is sent', async () => {
    bench.site().serve({ calls: `service('track', 'saved')` })
    const { page } = await bench.openPage()
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await bench.expectReports([])
  })

  test('reports the current page, not earlier ones', async () => {
    const { page } = await bench.openPage('/a')
    await page.waitForFunction(LOADED)
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await page.evaluate(identify())
    await bench.expectReports(['ada page /b'])
  })

  test('with the same pair again does nothing', async () => {
    bench.site().serve({ calls: `${identify()}; ${identify()}` })
    const { page } = await bench.openPage()
    await bench.expectReports(['ada page /a'])
    await page.evaluate(identify())
    await page.evaluate(identify(' Ada@Example.com ', proofOf('ada@example.com').signature))
    await bench.expectReports(['ada page /a'])
  })

  test('of another person without reset is a reset first', async () => {
    bench.site().serve({ calls: identify() })
    const { page } = await bench.openPage()
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`service('track', 'hers'); ${identify(GRACE)}; service('track', 'theirs')`)
    const hers = ['ada page /a', 'ada track hers /a', 'ada leave /a']
    await bench.expectReports([...hers, 'grace track theirs /a', 'grace page /a'])
  })
})

describe('reset', () => {
  test('sends waiting events and a leave for the person, and forgets them', async () => {
    bench.site().serve({ calls: identify() })
    const { page } = await bench.openPage()
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`service('track', 'last'); service('reset'); service('track', 'nobodys')`)
    await page.evaluate(`history.pushState(0, '', '/signed-out')`)
    await bench.expectReports(['ada page /a', 'ada track last /a', 'ada leave /a'])
  })

  test('lets a second person use the browser', async () => {
    bench.site().serve({ calls: identify() })
    const { page } = await bench.openPage()
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`service('reset'); history.pushState(0, '', '/sign-in')`)
    await page.evaluate(`history.pushState(0, '', '/home'); ${identify(GRACE)}`)
    await bench.expectReports(['ada page /a', 'ada leave /a', 'grace page /home'])
    const signed = bench
      .collector()
      .bodies()
      .map(({ email, signature }) => ({ email, signature }))
    expect(signed).toEqual([proofOf('ada@example.com'), proofOf('ada@example.com'), proofOf(GRACE)])
  })

  test('in the task of identify still reports the page', async () => {
    bench.site().serve({ calls: `${identify()}; service('reset')` })
    const { page } = await bench.openPage('/a')
    await bench.expectReports(['ada page /a', 'ada leave /a'])
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await bench.expectReports(['ada page /a', 'ada leave /a'])
  })

  test('drops events without a person', async () => {
    const { page } = await bench.openPage()
    await page.waitForFunction(LOADED)
    await page.evaluate(`service('track', 'early'); service('reset'); ${identify()}`)
    await bench.expectReports(['ada page /a'])
  })
})

describe('track', () => {
  test('contains the path at that time', async () => {
    const { page } = await bench.openPage('/a')
    await page.waitForFunction(LOADED)
    await page.evaluate(`service('track', 'Aa0_.:-'); history.pushState(0, '', '/b'); service('track', 'on-b')`)
    await page.evaluate(identify())
    await bench.expectReports(['ada track Aa0_.:- /a', 'ada track on-b /b', 'ada page /b'])
  })

  test('keeps the latest 50 until someone is identified, and sends 20 at a time', async () => {
    const { page } = await bench.openPage()
    await page.waitForFunction(LOADED)
    await page.evaluate(`for (let i = 1; i <= 60; i++) service('track', 'n' + i)`)
    await page.evaluate(identify())
    await until(() => bench.collector().reported().length >= 50, bench.collector().reported)
    const counts = bench
      .collector()
      .bodies()
      .map(({ events }) => events.length)
    expect(counts.sort()).toEqual([10, 20, 20])
    const reported = bench.collector().reported()
    expect(reported).toContain('ada page /a')
    expect(reported.filter((one) => one.includes('track'))).toHaveLength(49)
    expect(reported).toContain('ada track n12 /a')
    expect(reported).toContain('ada track n60 /a')
    expect(reported).not.toContain('ada track n11 /a')
    expect(
      new Set(
        bench
          .collector()
          .bodies()
          .map(({ id }) => id),
      ).size,
    ).toBe(3)
  })
})
