/** @jsxImportSource preact */
import { expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { QrCode } from '../../../src/dashboard/access/two-step-pages.tsx'
import { attributesOf } from '../pages.ts'

const TEXT = 'otpauth://totp/Eventpost:ada%40example.com?issuer=Eventpost&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const QUIET = 4

/** Rows of modules. */
async function rowsOf(text: string): Promise<string[]> {
  const html = render(<QrCode label="Scan it">{text}</QrCode>)
  const [box] = await attributesOf(html, 'svg', 'viewBox')
  const [path] = await attributesOf(html, 'path', 'd')
  const size = Number(box?.split(' ')[2])
  const dark = new Set(Array.from(path?.matchAll(/M(\d+) (\d+)h1v1h-1z/g) ?? [], ([, x, y]) => `${x} ${y}`))
  const row = (y: number) => Array.from({ length: size }, (_, x) => (dark.has(`${x} ${y}`) ? '#' : ' ')).join('')
  return Array.from({ length: size }, (_, y) => row(y))
}

const FINDER = ['#######', '#     #', '# ### #', '# ### #', '# ### #', '#     #', '#######']

test('has three finder patterns, a quiet zone, and is not mirrored', async () => {
  const rows = await rowsOf(TEXT)
  const size = rows.length
  const at = (x: number, y: number) => rows.slice(y, y + 7).map((row) => row.slice(x, x + 7))
  const far = size - QUIET - 7
  expect([at(QUIET, QUIET), at(far, QUIET), at(QUIET, far)]).toEqual([FINDER, FINDER, FINDER])
  expect(at(far, far)).not.toEqual(FINDER)
  const inner = rows.slice(QUIET, -QUIET)
  expect([...rows.slice(0, QUIET), ...rows.slice(-QUIET)].join('').trim()).toBe('')
  expect(
    inner
      .map((row) => row.slice(0, QUIET) + row.slice(-QUIET))
      .join('')
      .trim(),
  ).toBe('')
  // the dark module, which is light in the mirror image
  expect([inner.at(-8)?.at(QUIET + 8), inner[8]?.at(-QUIET - 8)]).toEqual(['#', ' '])
  expect(inner.length % 4).toBe(1)
})

test('differs by text, and the text is not in the page', async () => {
  expect(await rowsOf(TEXT)).not.toEqual(await rowsOf(TEXT.replace('ada', 'eve')))
  const html = render(<QrCode label={'"><b>'}>{TEXT}</QrCode>)
  expect([html.includes('GEZD'), html.includes('<b>')]).toEqual([false, false])
})
