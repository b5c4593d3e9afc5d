/** What is built from snippet/: its size, and what it has no business with. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

const ROOT = join(import.meta.dir, '../..')
const read = (name: string): Buffer => readFileSync(join(ROOT, 'dist/assets', name))
const script = read('s.js')

describe('the script', () => {
  test('is small', () => {
    expect(read('s.js.gz').length).toBeLessThanOrEqual(1_600)
    expect(read('s.js.br').length).toBeLessThanOrEqual(1_400)
  })

  test('is the same in each of its forms', () => {
    expect(gunzipSync(read('s.js.gz')).equals(script)).toBe(true)
    expect(brotliDecompressSync(read('s.js.br')).equals(script)).toBe(true)
  })

  test('leaves no name on the page but its own', () => {
    const text = script.toString()
    expect(text).toStartWith('(()=>{')
    expect(text).toEndWith('})()')
    expect(text.match(/window\.\w+/g)?.filter((name) => !/\.(service|navigation)$/.test(name))).toEqual([])
  })

  test('stores nothing, evaluates nothing, and knows no address', () => {
    const never = /cookie|storage|indexedDB|caches|eval|new Function|innerHTML|unload|https?:|beacon|XMLHttp|WebSocket/i
    expect(script.toString()).not.toMatch(never)
  })
})
