/** What is built from snippet/: its size, and what it has no business with. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dir, '../..')
const read = (name: string): Buffer => readFileSync(join(ROOT, 'dist/assets', name))
const script = read('s.js')

describe('the script', () => {
  test('is small', () => {
    expect(read('s.js.gz').length).toBeLessThanOrEqual(1_560)
    expect(read('s.js.br').length).toBeLessThanOrEqual(1_370)
    // what is served is what gzip -9 makes of it
    expect(read('s.js.gz').length).toBe(gzipSync(script, { level: 9 }).length)
    const packed = Bun.spawnSync(['gzip', '-9', '-n', '-c'], { stdin: script }).stdout
    expect(packed.length).toBeLessThanOrEqual(1_560)
  })

  test('has short internal names', () => {
    const text = script.toString()
    for (const name of ['person', 'proof', 'hold', 'report', 'delayMs'])
      expect(text).not.toMatch(new RegExp(`\\b${name}\\b`))
  })

  test('is the same in each encoding', () => {
    expect(gunzipSync(read('s.js.gz')).equals(script)).toBe(true)
    expect(brotliDecompressSync(read('s.js.br')).equals(script)).toBe(true)
  })

  test('adds no other global name', () => {
    const text = script.toString()
    expect(text).toStartWith('(()=>{')
    expect(text).toEndWith('})()')
    expect(text.match(/window\.\w+/g)?.filter((name) => !/\.(service|navigation)$/.test(name))).toEqual([])
  })

  test('stores nothing, evaluates nothing and contains no address', () => {
    const never = /cookie|storage|indexedDB|caches|eval|new Function|innerHTML|unload|https?:|beacon|XMLHttp|WebSocket/i
    expect(script.toString()).not.toMatch(never)
  })
})
