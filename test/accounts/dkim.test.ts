import { describe, expect, test } from 'bun:test'
import { isOnlyKey, listPublished, proposeSelector } from '../../src/accounts/dkim.ts'

describe('the keys at a name', () => {
  test.each<[string, string[], string[]]>([
    ['one', ['v=DKIM1; k=rsa; p=KEY'], ['KEY']],
    ['one without a version', ['k=rsa; p=KEY'], ['KEY']],
    ['one in strings', ['v=DKIM1; k=rsa; p=K', 'EY; t=s'], ['KEY']],
    ['one in strings between tags', ['v=DKIM1; k=rsa; ', 'p=K E', 'Y'], ['KEY']],
    ['two', ['v=DKIM1; k=rsa; p=OLD', 'v=DKIM1; k=rsa; p=KEY'], ['OLD', 'KEY']],
    ['two of which the first ends with a semicolon', ['v=DKIM1; p=OLD;', 'k=rsa; p=KEY'], ['OLD', 'KEY']],
    ['two in strings', ['v=DKIM1; p=O', 'LD', 'v=DKIM1; p=KE', 'Y'], ['OLD', 'KEY']],
    ['a revoked one', ['v=DKIM1; p='], ['']],
    ['a revoked one and another', ['v=DKIM1; p=', 'v=DKIM1; k=rsa; p=KEY'], ['', 'KEY']],
    ['one beside other records', ['v=spf1 -all', 'v=DKIM1; p=KEY', 'v=DMARC1; p=none', 'site=abc'], ['KEY']],
    ['none', ['v=DMARC1; p=none', 'other'], []],
  ])('%s', (_, texts, keys) => {
    expect(listPublished(texts)).toEqual(keys)
    expect(isOnlyKey(keys, { domain: 'a.example', selector: 's', publicKey: 'KEY' })).toBe(keys.join() === 'KEY')
  })
})

describe('the selector of a new key', () => {
  const key = (selector: string, domain = 'a.example') => ({ domain, selector, key: 'pem' })
  test.each([
    [null, null, [], 'eventpost'],
    [null, null, [key('eventpost'), key('eventpost2')], 'eventpost3'],
    [null, null, [key('eventpost', 'b.example')], 'eventpost'],
    [key('post'), null, [key('post')], 'post2'],
    [key('post'), key('post2'), [key('post'), key('post2')], 'post3'],
    [null, key('2026'), [key('2026')], '2027'],
    [key(`a${'9'.repeat(30)}`), null, [key(`a${'9'.repeat(30)}`)], `a${'9'.repeat(24)}1000000`],
  ])('is free (%#)', (signing, waiting, taken, selector) => {
    expect(proposeSelector({ signing, waiting }, 'a.example', taken)).toBe(selector)
  })
})
