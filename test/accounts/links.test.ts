import { describe, expect, test } from 'bun:test'
import { ownHosts, type OwnHosts } from '../../src/accounts/app-hosts.ts'
import { linkableUrl, warnOfUrl } from '../../src/accounts/links.ts'
import { cleanText } from '../../src/core/visible-text.ts'

const mailLink = (url: string, hosts: OwnHosts) => linkableUrl(cleanText(url) ?? '', hosts)
const warn = (url: string | null, hosts: OwnHosts, event = 'results_ready') => warnOfUrl({ event, url }, hosts)
const isWarned = (url: string, hosts: OwnHosts) => warn(url, hosts).some(({ code }) => code === 'url_not_linkable')
const isLinkable = (url: string, hosts: OwnHosts) => !isWarned(url, hosts)

const HOSTS = ownHosts(['example.com', 'xn--bcher-kva.de', 'me.github.io'])

describe('linkableUrl gives the URL on the own domain', () => {
  const cases: [string, string][] = [
    ['https://example.com', 'https://example.com/'],
    ['https://example.com/', 'https://example.com/'],
    ['https://example.com/results/1?a=b&c=%20#top', 'https://example.com/results/1?a=b&c=%20#top'],
    ['https://example.com?next=https://evil.example/', 'https://example.com/?next=https://evil.example/'],
    ['https://example.com#x', 'https://example.com/#x'],
    ['https://app.example.com/x', 'https://app.example.com/x'],
    ['https://a.b.example.com/@user:x', 'https://a.b.example.com/@user:x'],
    ['HTTPS://EXAMPLE.COM/X', 'https://example.com/X'],
    ['https://example.com:443/x', 'https://example.com/x'],
    ['https://example.com/ü', 'https://example.com/%C3%BC'],
    ['https://example.com/"><script>', 'https://example.com/%22%3E%3Cscript%3E'],
    ['https://bücher.de/x', 'https://xn--bcher-kva.de/x'],
    ['https://shop.Bücher.de/x', 'https://shop.xn--bcher-kva.de/x'],
    ['https://xn--bcher-kva.de/x', 'https://xn--bcher-kva.de/x'],
    ['https://me.github.io/x', 'https://me.github.io/x'],
  ]
  test.each(cases)('%s', (raw, href) => {
    expect(linkableUrl(raw, HOSTS)?.href ?? null).toBe(href)
  })
})

describe('linkableUrl refuses', () => {
  const raws = [
    '',
    'x',
    '/results/1',
    '//example.com/x',
    'example.com/x',
    'https:',
    'https://',
    'https:///example.com/x',
    'https:/example.com/x',
    'https:example.com/x',
    'https:\\\\example.com\\x',
    'http://example.com/x',
    'ftp://example.com/x',
    'ws://example.com',
    'javascript:alert(1)',
    'JavaScript://example.com/%0aalert(1)',
    'data:text/html,x',
    'data://example.com/x',
    'file://example.com/x',
    'blob:https://example.com/x',
    'view-source:https://example.com',
    'https://evil.example/x',
    'https://evil.example/example.com',
    'https://evil.example?example.com',
    'https://evil.example#.example.com',
    'https://evilexample.com/x',
    'https://example.com.evil.example/x',
    'https://example.comevil.example/x',
    'https://example.co/x',
    'https://example-com.evil.example',
    'https://user@example.com/x',
    'https://user:pass@example.com/x',
    'https://@example.com/x',
    'https://:@example.com/x',
    'https://example.com@evil.example/x',
    'https://example.com%40evil.example/x',
    'https://evil.example\\@example.com',
    'https://example.com\\@evil.example',
    'https://example.com:443@evil.example/',
    'https://example.com:x@evil.example/',
    'https://example.com:8443/x',
    'https://example.com:80/x',
    'https://example.com:0/x',
    'https://example.com:/x',
    'https://example.com:443443/x',
    'https://example.com:0443/x',
    'https://example.com:443:443/x',
    'https://example.com:https/x',
    'https://127.0.0.1/x',
    'https://127.1/x',
    'https://2130706433/x',
    'https://0x7f000001/x',
    'https://0177.0.0.1/x',
    'https://[::1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'https://１２７.0.0.1/',
    'https://localhost/x',
    ' https://example.com/x',
    'https://example.com/x ',
    'https://example.com/x\n',
    '\ufeffhttps://example.com/x',
    'https://example.com/a b',
    ' https://example.com/a b ',
    'https://example.com/x \u0085',
    'https://exa\tmple.com/x',
    'https://exam\nple.com/x',
    'https://example.com/\tx',
    '\u0000https://example.com',
    '\u0001https://example.com',
    'https://example.com/\u0085',
    'https://example.com/\u00a0x',
    'https://example.com/\u2028x',
    'https://example.com/\ud800',
    'https://example.com/\\x',
    'java\nscript:alert(1)',
    'https://example.com./x',
    'https://.example.com/x',
    'https://a..example.com/x',
    'https://..example.com/x',
    'https://-a.example.com/x',
    'https://a-.example.com/x',
    'https://a_b.example.com/x',
    `https://${'x'.repeat(64)}.example.com/x`,
    'https://ex%61mple.com/x',
    'https://evil.example%2f.example.com/x',
    'https://evil.example%23.example.com',
    'https://exаmple.com/x',
    'https://ｅvil.example/x',
    'https://example。com/x',
    'https://example．com/x',
    'https://exam\u00adple.com/x',
    'https://exam\u200bple.com/x',
    'https://evil.example／.example.com',
    'https://evil.example；.example.com',
    'https://evil℀.example.com/',
    'https://xn--a.example.com/',
    'https://xn--exmple-4nf.com/x',
    'https://bucher.de/x',
    'https://github.io/x',
    'https://you.github.io/x',
    'https://*.example.com/',
    'https://example.com,evil.example/',
    'https://example.com;evil.example/',
    'https://example.com&evil.example/',
    "https://example.com'evil.example/",
    'https://example.com|evil.example',
  ]
  test.each(raws)('%j', (raw) => {
    expect(linkableUrl(raw, HOSTS)).toBeNull()
  })
  const hostLists: [string, string[]][] = [
    ['https://example.com/', []],
    ['https://example.com/', ['']],
    ['https://example.com/', ['com']],
    ['https://example.com/', ['.example.com']],
    ['https://example.com/', ['Example.com']],
    ['https://example.com/', ['*']],
    ['https://you.github.io/', ['github.io']],
    ['https://shop.co.uk/', ['co.uk']],
    ['https://127.0.0.1/', ['127.0.0.1']],
    ['https://[::1]/', ['[::1]']],
    ['http://example.com/', ['localhost', 'example.com']],
    ['https://example.com:3000/', ['localhost', 'example.com']],
  ]
  test.each(hostLists)('%s with the hosts %j', (raw, hosts) => {
    expect(linkableUrl(raw, ownHosts(hosts))).toBeNull()
  })
})

describe('a localhost app', () => {
  test.each([
    ['http://localhost/x', 'http://localhost/x'],
    ['http://localhost:3000/x', 'http://localhost:3000/x'],
    ['HTTPS://LocalHost:8443/x', 'https://localhost:8443/x'],
    ['http://app.localhost:3000/', 'http://app.localhost:3000/'],
    ['http://localhost.evil.example/', null],
    ['http://user@localhost/', null],
    ['http://localhost./', null],
    ['http://localhost:99999/', null],
    ['http://127.0.0.1:3000/', null],
    ['http://[::1]:3000/', null],
    ['ftp://localhost/', null],
  ])('%s', (raw, href) => {
    expect(linkableUrl(raw, ownHosts(['localhost']))?.href ?? null).toBe(href)
  })
})

describe('a warning about a URL', () => {
  const OWN = ownHosts(['example.com', 'app.other.example'])
  const ABOUT = 'Emails link only to example.com and app.other.example, including subdomains.'
  const HOW = ' Add the domain in Settings, or set all domains with `eventpost app set --domain`.'
  test.each([
    ['', 'it is empty'],
    [' \n', 'it is empty'],
    ['https://example.com/a b', 'it contains a space, a control character or a backslash'],
    ['https:\\\\example.com', 'it contains a space, a control character or a backslash'],
    ['/results/1', 'it does not start with https://'],
    ['ftp://example.com/x', 'it does not start with https://'],
    ['javascript:alert(1)', 'it does not start with https://'],
    ['http://example.com/x', 'it starts with http:// instead of https://'],
    ['https://me:secret@example.com/x', 'it contains a username or an @ before the path'],
    ['https://me@example.com/x', 'it contains a username or an @ before the path'],
    ['https://example.com:8443/x', 'it contains a port'],
    ['https://127.0.0.1/x', 'it is not a valid URL with a domain name'],
    ['https://[::1]/x', 'it is not a valid URL with a domain name'],
    ['https://a_b.example.com/x', 'it is not a valid URL with a domain name'],
    ['https:///x', 'it is not a valid URL with a domain name'],
    ['https://elsewhere.example/x', "it isn't on one of this app's domains"],
    ['http://elsewhere.example:8080/x', "it isn't on one of this app's domains"],
    [' https://elsewhere.example/x ', "it isn't on one of this app's domains"],
  ])('names the cause: %j', (url, cause) => {
    const how = cause.includes("on one of this app's domains") ? HOW : ''
    const message = `Emails don't link to \`url\`: ${cause}. ${ABOUT}${how}`
    expect(warn(url, OWN)).toEqual([{ field: 'properties', code: 'url_not_linkable', message }])
    expect(mailLink(url, OWN)).toBeNull()
  })

  test('is given for a missing URL of results_ready only', () => {
    expect(warn(null, OWN)).toMatchObject([{ field: 'properties', code: 'url_missing' }])
    expect(warn(null, OWN)[0]?.message).toContain("emails link to the app's home page")
    expect(warn(null, OWN)[0]?.message).toContain('Without `url` and `resultId`, each person gets the email once.')
    expect(warn(null, OWN, 'signed_up')).toEqual([])
  })

  test.each([['https://example.com/x'], ['https://www.example.com:443/x'], ['https://example.com/ü']])(
    'is not given for %j',
    (url) => {
      expect(warn(url, OWN)).toEqual([])
    },
  )

  test.each([
    ' https://example.com/x',
    'https://example.com/x\n',
    '\thttps://www.example.com/ü ',
    '\u0000https://example.com/\u0085',
  ])('is given for a URL linked without its whitespace: %j', (url) => {
    expect(warn(url, OWN)).toMatchObject([{ field: 'properties', code: 'url_trimmed' }])
    expect(mailLink(url, OWN)?.href).toBe(new URL(url.replaceAll(/[\s\p{Cc}]/gu, '')).href)
  })

  test('names the allowed domains, at most five', () => {
    const message = (hosts: string[]) => warn('https://elsewhere.example/x', ownHosts(hosts))[0]?.message
    expect(message([])).toContain('This app has no domains yet. Add the domain in Settings')
    expect(message(['github.io'])).toContain('This app has no domains yet.')
    expect(message(['1.ab', '2.ab', '3.ab', '4.ab', '5.ab', '6.ab', '7.ab'])).toContain(
      'Emails link only to 1.ab, 2.ab, 3.ab, 4.ab, 5.ab and 2 more, including subdomains.',
    )
  })
})

test('a warning is given exactly for URLs that emails do not link', () => {
  const paths = [
    '',
    '/',
    '/a?b#c',
    '?x',
    '#y',
    '/~(!)',
    '/\\evil',
    '/a b',
    '/\u00fc',
    ':443/',
    '@evil.example/',
    '.evil.example/',
    '/x ',
    '\n',
  ]
  const origins = [
    'https://example.com',
    'https://app.example.com',
    'http://example.com',
    'https://evil.example',
    'https://EXAMPLE.com',
    'https://github.io',
    '//example.com',
    'https:/example.com',
    'https://evil.example?app.example.com',
    'https://evil.example#.example.com',
    'https://a@app.example.com',
    'https://a:b@example.com',
    'https://-.example.com',
    'https://a_b.example.com',
    'https://a..example.com',
    'https://notexample.com',
    'https://xn--bcher-kva.example.com',
    'https://xn--a.example.com',
    'https://127.0.0.1.example.com',
    `https://${'a'.repeat(64)}.example.com`,
    `https://${'a.'.repeat(130)}example.com`,
  ]
  for (const origin of origins) {
    for (const path of paths) {
      const raw = origin + path
      expect([raw, isWarned(raw, HOSTS)]).toEqual([raw, mailLink(raw, HOSTS) === null])
    }
  }
})

test('a URL is checked against the given hosts, whatever was asked before', () => {
  const [own, foreign] = [ownHosts(['example.com']), ownHosts(['other.example'])]
  const urls = [
    'https://app.example.com/a',
    'https://app.example.com/b',
    'https://app.example.com',
    'https://other.example/',
  ]
  for (let round = 0; round < 2; round += 1) {
    expect(urls.map((url) => isLinkable(url, own))).toEqual([true, true, true, false])
    expect(urls.map((url) => isLinkable(url, foreign))).toEqual([false, false, false, true])
    expect(
      ['https://app.example.com.evil.example/', 'https://app.example.com/a b'].map((url) => isLinkable(url, own)),
    ).toEqual([false, false])
    expect(isLinkable('https://app.example.com/a', ownHosts([]))).toBe(false)
    expect(isLinkable('http://xexample.com/a', own)).toBe(false)
  }
})
