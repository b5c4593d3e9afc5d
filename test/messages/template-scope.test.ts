import { DEFAULT_PLACE } from '../../src/messages/template-values.ts'
import { expect, test } from 'bun:test'
import { makeTemplateScope, type TemplateFacts } from '../../src/messages/template-scope.ts'

const FACTS: TemplateFacts = {
  contact: {
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: null,
    tags: ['beta'],
    fields: { plan: 'pro', seats: 3 },
  },
  event: { properties: '{"headline":"Ready","nested":{"a":1,"b":null},"list":[1,null,"x"]}' },
  app: { name: 'Demo', homeUrl: null, ...DEFAULT_PLACE },
  unsubscribeUrl: 'https://post.example.com/u/1',
}

test('contains only what templates may use', () => {
  expect(makeTemplateScope(FACTS)).toEqual({
    event: { headline: 'Ready', nested: { a: 1 }, list: [1, 'x'] },
    events: [{ headline: 'Ready', nested: { a: 1 }, list: [1, 'x'] }],
    contact: { email: 'ada@example.com', firstName: 'Ada', tags: ['beta'], fields: { plan: 'pro', seats: 3 } },
    app: { name: 'Demo', homeUrl: null },
    unsubscribeUrl: 'https://post.example.com/u/1',
  })
})

test('lists all events of the email in order, once each, cleaned', () => {
  const events = [{ n: 2, a: ' ' }, { n: 1 }, { n: 2, a: ' ' }].map((one) => ({ properties: JSON.stringify(one) }))
  const scope = makeTemplateScope({ ...FACTS, events: [...events, { properties: null }, { properties: null }] })
  expect(scope.events).toEqual([{ n: 2 }, { n: 1 }, {}])
  expect(scope.event).toEqual({ headline: 'Ready', nested: { a: 1 }, list: [1, 'x'] })
})

test('an app without events and a person without data', () => {
  const contact = { email: 'ada@example.com', firstName: null, lastName: null, tags: null, fields: null }
  expect(makeTemplateScope({ ...FACTS, contact, event: null })).toMatchObject({
    event: {},
    events: [],
    contact: { email: 'ada@example.com', fields: {} },
  })
})

test.each([
  [' \t\r\n ', undefined],
  ['\u202e\u2066', undefined],
  ['one\r\nBcc: x@example.com', 'one Bcc: x@example.com'],
  ['a\u0000b\u0007c', 'a b c'],
  ['a\u2028b\u2029c\u0085d', 'a b c d'],
  ['\u202egnp.exe', 'gnp.exe'],
  ['\u05d0\u200f!', '\u05d0\u200f!'],
  ['\ud800x', '\ufffdx'],
])('the text %p becomes %p', (headline, shown) => {
  const scope = makeTemplateScope({ ...FACTS, event: { properties: JSON.stringify({ headline }) } })
  expect(scope.event).toEqual(shown === undefined ? {} : { headline: shown })
})
