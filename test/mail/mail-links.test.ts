import { describe, expect, test } from 'bun:test'
import { fillTemplate } from '../../src/messages/templates.ts'
import { readMailLink } from '../../src/mail/render.ts'

const UNSUBSCRIBE = 'https://post.elsewhere.example/u/1'
const FACTS = { hosts: ['example.com'], homeUrl: 'https://www.other.example/', own: [UNSUBSCRIBE] }

function read(target: string, value: string) {
  const filling = fillTemplate(target, { event: { url: value } })
  if (!('filled' in filling)) throw new Error(JSON.stringify(filling))
  return readMailLink(filling.filled, FACTS)
}

describe('a link from an event', () => {
  test.each([
    ['https://example.com/results/1', 'https://example.com/results/1'],
    ['https://app.example.com/results/1?a=b&c=%20#d', 'https://app.example.com/results/1?a=b&c=%20#d'],
    ['https://EXAMPLE.com', 'https://example.com/'],
    ['https://example.com:443/', 'https://example.com/'],
    [UNSUBSCRIBE, UNSUBSCRIBE],
    ['https://www.other.example/', 'https://www.other.example/'],
  ])('is linked: %s', (url, href) => {
    expect(read('{{ event.url }}', url)).toEqual({ href })
  })

  test.each([
    'http://example.com/',
    'https://example.com.evil.example/',
    'https://evilexample.com/',
    'https://example.com@evil.example/',
    'https://user@example.com/',
    'https://example.com:8443/',
    'https://93.184.216.34/',
    'https://[::1]/',
    'https://xn--exmple-cua.com/',
    'https://ex\u0430mple.com/',
    'https://co.uk/',
    'https://github.io/',
    'javascript:alert(1)',
    'data:text/html,x',
    'https:\\\\example.com/',
    'https://example.com\\@evil.example/',
    'https://example.com/\u0000',
    ' https://example.com/',
    'https://example.com/a b',
    '//example.com/',
    '/results/1',
    'mailto:a@example.com',
  ])('is not linked: %p', (url) => {
    expect(read('{{ event.url }}', url)).toEqual({ refused: url })
  })

  test('cannot change the target as a part of a link', () => {
    expect(read('https://example.com/r/{{ event.url }}', '../../x?y#z')).toEqual({
      href: 'https://example.com/r/..%2F..%2Fx%3Fy%23z',
    })
    expect(read('https://{{ event.url }}/r', 'evil.example')).toEqual({ refused: 'https://evil.example/r' })
    expect(read('https://example.com{{ event.url }}', '.evil.example')).toEqual({
      refused: 'https://example.com.evil.example',
    })
    expect(read('{{ event.url }}.evil.example', 'https://example.com')).toMatchObject({ refused: expect.any(String) })
    expect(read('https://docs.other.example/{{ event.url }}', 'x')).toMatchObject({ refused: expect.any(String) })
  })
})

test.each([
  ['https://anywhere.example/x', { href: 'https://anywhere.example/x' }],
  ['mailto:help@anywhere.example', { href: 'mailto:help@anywhere.example' }],
  ['javascript:alert(1)', { refused: 'javascript:alert(1)' }],
  ['data:text/html,x', { refused: 'data:text/html,x' }],
  ['/relative', { refused: '/relative' }],
  ['', { refused: '' }],
])('the author may link to %s', (target, link) => {
  expect(readMailLink(target, FACTS)).toEqual(link)
})
