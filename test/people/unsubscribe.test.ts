import { describe, expect, test } from 'bun:test'
import { DEFAULT_PAGE } from '../../src/accounts/app-texts.ts'
import {
  findUnsubscribing,
  isLinkUnreachable,
  makeUnsubscribeToken,
  readUnsubscribeToken,
  unsubscribeUrl,
} from '../../src/people/unsubscribe.ts'

const ID = 2 ** 53 - 17
const LINK = { contactId: ID, topicId: null }
const NOW = 1_800_000_000_000

describe('a token', () => {
  test('is short, and identifies the person to holders of the key', () => {
    const token = makeUnsubscribeToken('key', LINK)
    expect(token).toMatch(/^[\w-]{32}$/)
    expect(readUnsubscribeToken('key', token)).toEqual(LINK)
    expect(unsubscribeUrl('https://post.example.com', 'key', LINK)).toBe(`https://post.example.com/u/${token}`)
    const ofTopic = { contactId: 0, topicId: ID }
    expect(makeUnsubscribeToken('key', ofTopic)).toMatch(/^[\w-]{43}$/)
    expect(readUnsubscribeToken('key', makeUnsubscribeToken('key', ofTopic))).toEqual(ofTopic)
  })

  test('of another key, or with any change, is invalid', () => {
    const token = makeUnsubscribeToken('key', LINK)
    expect(readUnsubscribeToken('other', token)).toBeNull()
    const changed = Array.from(token, (one, at) => token.slice(0, at) + (one === 'A' ? 'B' : 'A') + token.slice(at + 1))
    expect(changed.map((text) => readUnsubscribeToken('key', text))).toEqual(changed.map(() => null))
  })

  test('with extra text is invalid', () => {
    const token = makeUnsubscribeToken('key', LINK)
    for (const text of [`${token}!`, `!${token}`, `${token}=`, ` ${token}`])
      expect(readUnsubscribeToken('key', text)).toBeNull()
  })

  test.each(['', 'x', 'preview', 'test', 'A'.repeat(31), 'A'.repeat(33), `${'A'.repeat(31)}\n`, `${'A'.repeat(31)}=`])(
    'is not %p',
    (text) => {
      expect(readUnsubscribeToken('key', text)).toBeNull()
    },
  )
})

test.each([
  ['http://localhost:8080', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['https://post.example.com', false],
  ['http://10.0.0.5:8080', false],
])('a link to %s works on this machine only: %p', (baseUrl, isLost) => expect(isLinkUnreachable(baseUrl)).toBe(isLost))

describe('opening a link', () => {
  type Parts = Parameters<typeof findUnsubscribing>[0]
  const store = {
    byId: async (id: number) =>
      ({
        1: { appId: 5, email: 'ada@shop.example', status: 'subscribed', fields: null },
        3: { appId: 6, email: 'é@shop.example', status: 'bounced', fields: null },
      })[id] ?? null,
    findApp: async (id: number) => ({ id, name: 'Shop' }),
    mailSettings: async (id: number) => ({
      colour: '#112233',
      texts: null,
      logoUrl: id === 5 ? 'https://a.example/l.png' : 'javascript:x',
    }),
    findSuppression: async (id: number) => (id === 5 ? 'unsubscribed' : null),
    listUsedTopics: async () => [],
    findStatusChange: async () => ({ at: NOW - 1, actor: null, status: 'unsubscribed' }),
  } as unknown as Parts['store']
  const find = (token: string) => findUnsubscribing({ store, clock: { now: () => NOW }, unsubscribeKey: 'key' }, token)

  test('shows the app and the masked address, unless the person was erased or the link is invalid', async () => {
    expect(await find(makeUnsubscribeToken('key', { contactId: 1, topicId: null }))).toEqual({
      contactId: 1,
      address: 'a•••@shop.example',
      appName: 'Shop',
      status: 'unsubscribed',
      mayUndo: true,
      logoUrl: 'https://a.example/l.png',
      colour: '#112233',
      texts: DEFAULT_PAGE,
      topic: null,
      topics: [],
    })
    expect(await find(makeUnsubscribeToken('key', { contactId: 2, topicId: null }))).toEqual({
      contactId: 2,
      address: null,
      appName: null,
      status: null,
      mayUndo: false,
      logoUrl: null,
      colour: null,
      texts: DEFAULT_PAGE,
      topic: null,
      topics: [],
    })
    expect(await find(makeUnsubscribeToken('key', { contactId: 3, topicId: null }))).toMatchObject({
      status: 'bounced',
      address: 'é•••@shop.example',
      logoUrl: null,
    })
    expect(await find(makeUnsubscribeToken('other', { contactId: 1, topicId: null }))).toBeNull()
  })
})
