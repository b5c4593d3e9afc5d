import { describe, expect, test } from 'bun:test'
import { costOf, fitContact, fitMessage, fitText, takeWithin } from '../../src/mcp/budget.ts'

test('costOf counts a value twice: as data and as text', () => {
  const value = { a: '"ž"' }
  const json = JSON.stringify(value)
  expect(costOf(value)).toBe(Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json)))
})

describe('takeFitting', () => {
  test('takes the first items that fit, with commas', () => {
    const items = ['aaaa', 'bbbb', 'cccc']
    const each = costOf('aaaa') + 3
    expect(takeWithin(items, each * 2)).toEqual(['aaaa', 'bbbb'])
    expect(takeWithin(items, each * 2 - 1)).toEqual(['aaaa'])
    expect(takeWithin(items, each * 9)).toEqual(items)
    expect(takeWithin(items, 0)).toEqual([])
  })
})

describe('fitContact', () => {
  const contact = (tags: number, fields: number) => ({
    email: 'ada@example.com',
    tags: Array.from({ length: tags }, (_, index) => `tag-${index}`),
    fields: Object.fromEntries(Array.from({ length: fields }, (_, index) => [`field${index}`, '"'.repeat(100)])),
  })
  test('does not change a person that fits', () => {
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

describe('fitText', () => {
  test.each(['plain', '"quotes"\n', 'ž', '🦊'])('truncates %p at whole characters', (piece) => {
    const text = piece.repeat(2_000)
    expect(fitText(text, costOf(text))).toBe(text)
    for (const bytes of [0, 100, 1_001, 4_096]) {
      const fitted = fitText(text, bytes)
      expect([text.startsWith(fitted), fitted.isWellFormed()]).toEqual([true, true])
      if (bytes > 0) expect(costOf(fitted)).toBeLessThanOrEqual(bytes)
      if (bytes > 1_000) expect(costOf(fitted)).toBeGreaterThan(bytes / 2)
    }
  })
})

describe('fitMessage', () => {
  const messageOf = (body: string, rules: number) => ({
    trigger: { event: 'x', where: [{ property: 'plan' }] },
    onlyIf: Array.from({ length: rules }, () => ({ rule: 'field', to: 'x'.repeat(900) })),
    mail: { subject: 'S', body },
  })
  test('does not change a message that fits', () => {
    expect(fitMessage(messageOf('Hello', 1), 8_192)).toEqual({ message: messageOf('Hello', 1) })
  })
  test('truncates the body and keeps the rules', () => {
    const { message, omitted } = fitMessage(messageOf('x'.repeat(20_000), 1), 8_192)
    expect([omitted, message.onlyIf.length]).toEqual([['mail.body'], 1])
    expect(message.mail.body.length).toBeGreaterThan(1_000)
    expect(costOf(message)).toBeLessThanOrEqual(8_192)
  })
  test('omits the rules if they alone are too large', () => {
    const { message, omitted } = fitMessage(messageOf('Hello', 20), 8_192)
    expect(omitted).toEqual(['trigger.where', 'onlyIf', 'mail.body'])
    expect(JSON.parse(JSON.stringify(message))).toEqual({
      trigger: { event: 'x' },
      mail: { subject: 'S', body: 'Hello' },
    })
  })
})
