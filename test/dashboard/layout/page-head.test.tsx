/** @jsxImportSource preact */
import { expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { PageHead } from '../../../src/dashboard/layout/frame.tsx'

test('a title shows invisible and direction characters', () => {
  const html = render(<PageHead title={'invoice\u202egnp.exe'} state="Draft." />)
  expect(html).toMatch(/<h1><bdi>invoice<span [^>]*>U\+202E<\/span>gnp\.exe<\/bdi><\/h1>/)
})
