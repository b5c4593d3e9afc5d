import { describe, expect, test } from 'bun:test'
import { costOf, fitContact, takeFitting } from '../../src/mcp/budget.ts'

test('costOf counts a value twice: as it is, and written into a text', () => {
  const value = { a: '"ž"' }
  const json = JSON.stringify(value)
  expect(costOf(value)).toBe(Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json)))
})

describe('takeFitting', () => {
  test('takes the first that fit, commas included', () => {
    const items = ['aaaa', 'bbbb', 'cccc']
    const each = costOf('aaaa') + 3
    expect(takeFitting(items, each * 2)).toEqual(['aaaa', 'bbbb'])
    expect(takeFitting(items, each * 2 - 1)).toEqual(['aaaa'])
    expect(takeFitting(items, each * 9)).toEqual(items)
    expect(takeFitting(items, 0)).toEqual([])
  })
})

describe('fitContact', () => {
  const contact = (tags: number, fields: number) => ({
    email: 'ada@example.com',
    tags: Array.from({ length: tags }, (_, index) => `tag-${index}`),
    fields: Object.fromEntries(Array.from({ length: fields }, (_, index) => [`field${index}`, '"'.repeat(100)])),
  })
  test('leaves a person that fits as they are', () => {
    expect(fitContact(contact(3, 3), 4_096)).toEqual(contact(3, 3))
  })
  test.each([
    [200, 0],
    [0, 100],
    [200, 100],
  ])('%i tags and %i fields: leaves out what does not fit, and says how many', (tags, fields) => {
    const fitted = fitContact(contact(tags, fields), 4_096)
    const { omitted = { tags: 0, fields: 0 } } = fitted
    expect(costOf(fitted)).toBeLessThanOrEqual(4_096)
    expect(fitted.tags.length + omitted.tags).toBe(tags)
    expect(Object.keys(fitted.fields).length + omitted.fields).toBe(fields)
    expect(omitted.tags + omitted.fields).toBeGreaterThan(0)
  })
})
