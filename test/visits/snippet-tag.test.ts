import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { makeSnippetPolicy, makeSnippetTag, pinnedScriptPath, stubHash } from '../../src/visits/snippet-tag.ts'

const STUB = 'window.service=window.service||function(){}'
const SCRIPT = Buffer.from('console.log("ü")')
const TAG = { baseUrl: 'https://post.example.com', siteId: 'site_abc', stub: STUB }
const hash = (algorithm: string, value: string | Buffer, encoding: 'base64' | 'hex') =>
  createHash(algorithm).update(value).digest(encoding)

describe('makeSnippetTag', () => {
  const before = `<script>${STUB}</script>\n<script async src="https://post.example.com`

  test.each([
    ['as it is', {}, ''],
    ['with consent', { requiresConsent: true }, ' data-consent="required"'],
    ['with Global Privacy Control', { respectsGpc: true }, ' data-gpc="respect"'],
    ['with both', { requiresConsent: true, respectsGpc: true }, ' data-consent="required" data-gpc="respect"'],
  ])('%s', (_, options, attributes) => {
    const after = `/s.js" data-site="site_abc"${attributes} referrerpolicy="strict-origin"></script>`
    expect(makeSnippetTag({ ...TAG, ...options })).toBe(before + after)
  })

  test('a pinned tag names the immutable copy and its hash', () => {
    const path = `/s.${hash('sha256', SCRIPT, 'hex').slice(0, 16)}.js`
    const integrity = `sha384-${hash('sha384', SCRIPT, 'base64')}`
    const after = `" data-site="site_abc" referrerpolicy="strict-origin" integrity="${integrity}" crossorigin="anonymous"></script>`
    expect(pinnedScriptPath(SCRIPT)).toBe(path)
    expect(makeSnippetTag({ ...TAG, pinned: SCRIPT })).toBe(before + path + after)
  })

  test('escapes its attributes', () => {
    const tag = makeSnippetTag({ ...TAG, baseUrl: 'https://a.example/x&y', siteId: '"><script>alert(1)</script>' })
    expect(tag).toContain('src="https://a.example/x&amp;y/s.js"')
    expect(tag).toContain('data-site="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
  })
})

describe('makeSnippetPolicy', () => {
  const source = `sha256-${hash('sha256', STUB, 'base64')}`

  test.each(['https://post.example.com', 'https://post.example.com/under/a/path'])(
    'names the origin of %s',
    (baseUrl) => {
      const policy = `script-src '${source}' https://post.example.com; connect-src https://post.example.com`
      expect(makeSnippetPolicy({ baseUrl, stub: STUB })).toBe(policy)
      expect(stubHash(STUB)).toBe(source)
    },
  )
})
