/** `eventpost licenses`: nothing that is in the executable is missing. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type License, readLicenses } from '../src/assets.ts'
import { dependencies, devDependencies, scripts } from '../package.json'
import { eventpost, eventpostJson } from './cli/process.ts'

const ROOT = join(import.meta.dir, '..')
let parts: License[] = []
beforeAll(() => {
  parts = readLicenses().parts
})

const isNamed = (name: string): boolean => parts.some((part) => part.name === name || part.name.startsWith(`${name} `))

/** The packages whose code is in what the bundler makes: read from its source map. */
async function listBundled(script: string, target: 'bun' | 'browser'): Promise<string[]> {
  const entrypoints = (script.match(/\bsrc\/[\w/-]+\.ts\b/g) ?? []).map((entry) => join(ROOT, entry))
  const { outputs } = await Bun.build({ entrypoints, target, sourcemap: 'external' })
  const maps = await Promise.all(outputs.filter(({ kind }) => kind === 'sourcemap').map((map) => map.json()))
  const sources = maps.flatMap((map) => (map as { sources: string[] }).sources)
  return [...new Set(sources.flatMap((source) => packageOf(source) ?? []))].sort()
}

/** Its name and version; null for a file of ours. */
function packageOf(source: string): string | null {
  const start = source.indexOf('node_modules/')
  if (start < 0) return null
  for (let folder = dirname(join(ROOT, source.slice(start))); folder !== ROOT; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    const { name, version } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    if (name !== undefined && version !== undefined) return `${name} ${version}`
  }
  throw new Error(`${source} belongs to no package`)
}

describe('the licenses', () => {
  test('name every package that is bundled, for the server and for browsers', async () => {
    const bundled = [...(await listBundled(scripts.compile, 'bun')), ...(await listBundled(scripts.assets, 'browser'))]
    expect(bundled.filter((name) => !parts.some((part) => part.name === name))).toEqual([])
    expect(bundled.length).toBeGreaterThan(25)
  })

  test('name every dependency, and nothing that is for work on it only', () => {
    expect(Object.keys(dependencies).filter((name) => !isNamed(name))).toEqual([])
    // the MCP SDK brings `ajv`
    const bundled = ['bun', 'ajv']
    expect(Object.keys(devDependencies).filter((name) => isNamed(name) && !bundled.includes(name))).toEqual([])
  })

  test('name everything that the runtime says it is made of', () => {
    const sections: Record<keyof typeof process.versions, string | null> = {
      ...Object.fromEntries(Object.keys(process.versions).map((name) => [name, name])),
      bun: 'Bun',
      webkit: 'JavaScriptCore and WebKit',
      sqlite: 'SQLite',
      boringssl: 'BoringSSL',
      openssl: 'BoringSSL',
      uwebsockets: 'uWebSockets',
      usockets: 'uSockets',
      zig: 'Zig standard library',
      zlib: 'zlib-ng',
      tinycc: 'TinyCC',
      lolhtml: 'lol-html',
      ares: 'c-ares',
      lshpack: 'ls-hpack',
      zstd: 'Zstandard',
      v8: 'V8',
      uv: 'libuv',
      icu: 'ICU',
      unicode: 'ICU',
      typescript: 'TypeScript',
      // numbers of interfaces, not code
      node: null,
      napi: null,
      modules: null,
    }
    const missing = Object.keys(process.versions).filter((name) => {
      const section = sections[name as keyof typeof sections]
      return section !== null && !isNamed(section ?? name)
    })
    expect(missing).toEqual([])
    expect(['Brotli', 'Public Suffix List'].filter((name) => !isNamed(name))).toEqual([])
  })

  test('have a text each, with who holds the copyright', () => {
    const bare = parts.filter(({ text }) => text.length < 100 || !/copyright|\(c\) \d|public domain/i.test(text))
    expect(bare.map(({ name }) => name)).toEqual([])
    const texts = parts.filter(({ license }) => license === 'text').map(({ name }) => name)
    expect(texts).toHaveLength(4)
    for (const name of texts) expect(parts.find((part) => part.name === name)?.text.length).toBeGreaterThan(9_000)
    expect(parts.filter(({ name, license }) => name === '' || license === '')).toEqual([])
  })
})

describe('eventpost licenses', () => {
  test('prints them all', async () => {
    const { code, out, err } = await eventpost(['licenses'])
    expect([code, err]).toEqual([0, ''])
    expect(out.trimEnd()).toBe(readLicenses().text.trimEnd())
  })

  test('lists names and licenses with --json', async () => {
    const list = await eventpostJson<{ name: string; license: string }[]>(['licenses'])
    expect(list).toContainEqual({ name: 'SQLite', license: 'Public domain' })
    expect(list).toHaveLength(parts.length)
  })
})

describe('the check of installed packages', () => {
  const checkPackages = async (packages: Record<string, string>): Promise<{ code: number; text: string }> => {
    const folder = mkdtempSync(join(tmpdir(), 'eventpost-licenses-'))
    try {
      for (const [name, license] of Object.entries(packages)) {
        await Bun.write(join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ name, license }))
      }
      const script = join(ROOT, '.ci/check-licenses.ts')
      const child = Bun.spawn([process.execPath, script], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
      const text = (await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))).join(
        '',
      )
      return { code: await child.exited, text }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  test('takes permissive licenses, and names the packages under MPL-2.0', async () => {
    const { code, text } = await checkPackages({ a: 'MIT', '@scope/b': 'Apache-2.0', c: 'MPL-2.0' })
    expect([code, text]).toEqual([0, 'c: MPL-2.0\n'])
  })

  test('refuses others, also of a package that another one brings', async () => {
    const { code, text } = await checkPackages({ a: 'MIT', 'a/node_modules/@scope/b': 'GPL-3.0-only' })
    expect([code, text]).toEqual([1, 'a/node_modules/@scope/b: "GPL-3.0-only"\n'])
  })
})
