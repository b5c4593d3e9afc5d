import { expect, test } from 'bun:test'
import { expectHarmless, openPages, textOf } from './pages.ts'

test('every part is shown with its states', async () => {
  const pages = await openPages()
  const response = await pages.get('/_parts')
  const html = await response.text()
  expect(response.status).toBe(200)
  expect(await textOf(html, 'section > h2')).toEqual([
    'Button',
    'Field, select, radios, toggle',
    'Badge and notice',
    'Table',
    'Empty state',
    'Area chart',
    'Progress',
    'Timeline',
    'Values',
    'Secret shown once',
    'QR code',
    'Code',
    'Diff',
    'Mail preview',
  ])
  await expectHarmless(html)
  await pages.close()
})
