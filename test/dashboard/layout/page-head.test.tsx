/** @jsxImportSource preact */
import { expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { PageHead } from '../../../src/dashboard/layout/frame.tsx'

test('a title shows invisible and direction characters', () => {
  const html = render(<PageHead title={'invoice\u202egnp.exe'} state="Draft." />)
  expect(html).toMatch(/<h1><bdi>invoice<span [^>]*>U\+202E<\/span>gnp\.exe<\/bdi><\/h1>/)
})

test('a long title is smaller, and its tooltip has all of it', () => {
  const title = 'x'.repeat(80)
  expect(render(<PageHead title={title} state="Draft." />)).toContain(`<h1 class="long" title="${title}">`)
  expect(render(<PageHead title="Results ready" state="Draft." />)).toContain('<h1><bdi>Results ready')
})
