/** snippet/stub.ts, as it stands in a page. */
import { describe, expect, test } from 'bun:test'
import { runInNewContext } from 'node:vm'
import { STUB } from './collector.ts'

type Page = { service?: ((...call: unknown[]) => unknown) & { q?: ArrayLike<unknown>[] } }

function openPage(globals: Page = {}): Page {
  const page: Page & { window?: Page } = { ...globals }
  page.window = page
  runInNewContext(STUB, page)
  return page
}

describe('the stub', () => {
  test('is under 100 bytes and closes no script element', () => {
    expect(Buffer.byteLength(STUB)).toBeLessThan(100)
    expect(STUB).not.toContain('<')
  })

  test('queues calls in order and returns nothing', () => {
    const { service } = openPage()
    expect(service?.('identify', { email: 'ada@example.com' })).toBeUndefined()
    expect(service?.('reset')).toBeUndefined()
    expect(Array.from(service?.q ?? [], (call) => Array.from(call))).toEqual([
      ['identify', { email: 'ada@example.com' }],
      ['reset'],
    ])
  })

  test('does not replace an existing one', () => {
    const there = (): void => undefined
    expect(openPage({ service: there }).service).toBe(there)
  })
})
