/** The rules of the repository that no linter knows: what is loaded when, what lies where, and that the README says what is so. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { getTableName } from 'drizzle-orm'
import { COLLECT_BYTES } from '../src/api/collect.ts'
import { readStub } from '../src/assets.ts'
import { SETTINGS } from '../src/config.ts'
import { MAX_BATCH_ITEMS } from '../src/visits/visit-reports.ts'
import { ABUSE_LIMITS } from '../src/http/abuse-limits.ts'
import { COSTLY_CALL_LIMIT } from '../src/accounts/costly-calls.ts'
import { type Limit, RATE_LIMITS } from '../src/accounts/limits.ts'
import * as schema from '../src/store/schema.ts'
import { SERVER_CHECKS } from '../src/mail/server-check.ts'
import { SNIPPET_LIMITS } from '../src/visits/snippet-limits.ts'
import { makeSnippetPolicy, makeSnippetTag } from '../src/visits/snippet-tag.ts'

const ROOT = join(import.meta.dir, '..')

const TOP_LEVEL = [
  '.ci',
  '.gitignore',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'bun.lock',
  'bunfig.toml',
  'data',
  'package.json',
  'snippet',
  'src',
  'test',
  'tsconfig.json',
]
/** Git does not keep these. */
const IGNORED = ['.git', 'node_modules', 'dist']

const listFiles = (folder: string): string[] =>
  existsSync(join(ROOT, folder))
    ? readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true, encoding: 'utf8' })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    : []

/** One term has one meaning. */
const REPLACED_TERMS =
  /\w*(?:judg|rehears|\btall(?:y|ies)\b|\bchores?\b|flood|\bwish|\bdoors?\b|openDoors|lastLook|usedUpKey|STOP_REASONS|heldApps|BatchWrite|recordBatch|onceKey)\w*/gi

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Samples are texts to the program. */
const SOURCES = [...listFiles('src'), ...listFiles('snippet')].filter((path) => !path.startsWith('src/docs/samples/'))
const CODE = SOURCES.filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))

const importsOf = (path: string): string[] =>
  Array.from(
    read(path).matchAll(/^(?:import|export)\b[^'"]*?(?:from )?['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm),
    ([, plain, dynamic]) => plain ?? dynamic ?? '',
  )

/** Of our own code, and neither for its types alone nor late. */
const LOADING_IMPORT = /^(?:import|export) (?!type )[^'"]*?['"](\.[^'"]+\.tsx?)['"]/gm

/** A file with all of ours that it loads. */
function loadedBy(start: string): string[] {
  const loaded = new Set<string>()
  const load = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const [, name = ''] of read(path).matchAll(LOADING_IMPORT)) load(normalize(join(dirname(path), name)))
  }
  load(start)
  return [...loaded]
}

const loadedByService = (): string[] => [...loadedBy('src/main.ts'), ...loadedBy('src/cli/start-service.ts')]

describe('the modules', () => {
  test('load pages and the MCP server on the first request', () => {
    const loaded = loadedByService()
    expect(loaded).toContain('src/server.ts')
    expect(loaded.filter((path) => path.endsWith('.tsx') || path === 'src/mcp/protocol.ts')).toEqual([])
  })

  test('load the service for serve only, and the store for no help', () => {
    const loaded = loadedBy('src/main.ts')
    expect(loaded).toContain('src/cli/serve.ts')
    const late = ['src/cli/start-service.ts', 'src/server.ts', 'src/assets.ts', 'src/store/store.ts']
    expect(loaded.filter((path) => late.includes(path))).toEqual([])
  })

  test('parse no template on the main thread', () => {
    const loaded = loadedByService()
    expect(loaded).toContain('src/messages/template-worker.ts')
    expect(loaded.filter((path) => importsOf(path).includes('liquidjs'))).toEqual([])
    expect(loaded.filter((path) => read(path).includes('Bun.markdown.render('))).toEqual([])
    expect(loadedBy('src/mail/template-thread.ts').filter((path) => importsOf(path).includes('liquidjs'))).toHaveLength(
      1,
    )
  })

  test('load no public suffix list in the writer thread', () => {
    const loaded = loadedBy('src/writer.ts')
    expect(loaded).toContain('src/accounts/links.ts')
    expect(loaded.filter((path) => importsOf(path).includes('tldts'))).toEqual([])
    expect(loadedBy('src/main.ts').filter((path) => importsOf(path).includes('tldts'))).not.toEqual([])
  })
})

describe('lookup tables with any text as key', () => {
  // `TABLE[text]` finds `constructor` and all else that an object inherits
  test('are Maps, or use Object.hasOwn', () => {
    const table = /\bconst (\w+): Record<string, .*> = \{/g
    const tables = CODE.flatMap((path) => Array.from(read(path).matchAll(table), ([, name = '']) => ({ path, name })))
    const wrong = tables.filter(({ path, name }) => {
      const lookups = read(path)
        .split('\n')
        .filter((line) => new RegExp(`\\b${name}\\[[^'"]`).test(line))
      return lookups.some((line) => !line.includes(`Object.hasOwn(${name}, `))
    })
    expect(wrong).toEqual([])
    expect('const NAMES: Record<string, string> = {'.match(table)).toHaveLength(1)
    expect(tables).not.toEqual([])
  })
})

test('one file says how numbers are written', () => {
  const isWriting = (path: string): boolean => /\.toLocaleString\((?:'[\w-]*')?\)/.test(read(path))
  expect(CODE.filter(isWriting)).toEqual(['src/core/count.ts'])
})

describe('the store', () => {
  // the second gives modules both
  const exempt = ['src/store/schema.ts', 'src/store/engine/sqlite-sql.ts']
  const files = CODE.filter((path) => path.startsWith('src/store/') && !exempt.includes(path))
  const usesDrizzle = (path: string): boolean => importsOf(path).some((name) => name.startsWith('drizzle-orm'))
  const [withDrizzle, withoutIt] = [files.filter(usesDrizzle), files.filter((path) => !usesDrizzle(path))]

  test('uses Drizzle or SQL in a file, never both', () => {
    expect(withDrizzle.filter((path) => /\bdb\s*\.\s*(prepare|query|run|exec|transaction)\b/.test(read(path)))).toEqual(
      [],
    )
    expect(withoutIt.filter((path) => importsOf(path).includes('./schema.ts'))).toEqual([])
    expect(withDrizzle.length).toBeGreaterThan(10)
    expect(withoutIt.filter((path) => /\bdb\.prepare\b/.test(read(path))).length).toBeGreaterThan(10)
  })

  // its builder takes ten times as long as a statement that was prepared
  test('uses SQL for tables on the hot path', () => {
    const hot = ['contacts', 'contact_tags', 'event_names', 'events', 'snippet_batches', 'deliveries', 'captured_mails']
    const counted = [
      'rollups',
      'daily_rollups',
      'new_people',
      'limit_usage',
      'idempotency_records',
      'suppressions',
      'mcp_calls',
      'requests',
      'request_callers',
    ]
    const tables: string[] = Object.values(schema).map(getTableName)
    expect(tables.filter((table) => [...hot, ...counted].includes(table))).toEqual([])
    expect(tables.length).toBeGreaterThan(10)
  })
})

describe('the pages', () => {
  // Bun reads the tsconfig.json of the folder it is started in, and of no other
  test('name their JSX runtime, so that the service starts from any folder', () => {
    const pages = SOURCES.filter((path) => path.endsWith('.tsx'))
    expect(pages.filter((path) => !read(path).startsWith('/** @jsxImportSource preact */\n'))).toEqual([])
    expect(pages.length).toBeGreaterThan(5)
  })
})

describe('the folders', () => {
  test('use no term that the glossary replaced', () => {
    const tests = listFiles('test').filter((path) => /\.tsx?$/.test(path) && !path.includes('/node_modules/'))
    const found = [...CODE, ...tests].flatMap((path) =>
      Array.from(read(path).matchAll(REPLACED_TERMS), ([word]) => `${path}: ${word}`),
    )
    // rows of version 0.1.0 have it, and are still read
    const stored = ['src/store/decision-records.ts: wish', 'test/store/decision-records.test.ts: wish']
    expect(found.filter((one) => !one.startsWith('test/house.test.ts') && !stored.includes(one))).toEqual([])
  })

  test('have no merge markers', () => {
    const marked = [...SOURCES, ...listFiles('test'), 'README.md', 'CHANGELOG.md']
      .filter((path) => /\.(tsx?|md|css|sql)$/.test(path) && !path.includes('node_modules'))
      .filter((path) => /^(<{7} |>{7} |(> ){7}|={7}$|\| ={7} )/m.test(readFileSync(join(ROOT, path), 'utf8')))
    expect(marked).toEqual([])
  })

  test('at the top are the known ones', () => {
    const found = readdirSync(ROOT).filter((name) => !IGNORED.includes(name))
    expect(found.filter((name) => !TOP_LEVEL.includes(name))).toEqual([])
  })
})

describe('the documentation', () => {
  test('states the current limits', () => {
    const rows = read('src/docs/limits.md')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim()))
    const said = (what: string) => rows.find(([, name]) => name === what)?.[2]
    const quote = ({ max, windowMs }: Limit) => {
      const minutes = windowMs / 60_000
      const window = minutes === 60 ? 'hour' : minutes === 1 ? 'minute' : `${minutes} minutes`
      return `${max.toLocaleString('en')} in any ${window}`
    }
    expect(said('events, per key')).toBe(quote(RATE_LIMITS.events))
    expect(said('calls to add people, per key')).toBe(quote(RATE_LIMITS.contactAdds))
    expect(said("calls to add people with a visitor's `ip`, per app and IP address")).toBe(
      quote(RATE_LIMITS.addsPerVisitor),
    )
    expect(said('calls to change people, per key')).toBe(quote(RATE_LIMITS.contactUpdates))
    expect(said('simulations, per key; test emails, per key')).toBe(quote(COSTLY_CALL_LIMIT))
    expect(said('refused requests, per key')).toBe(quote(ABUSE_LIMITS.key))
    expect(said('requests without a valid key, per IP address')).toBe(quote(ABUSE_LIMITS.address))
    expect(said('page views and actions from the browser script, per person')).toBe(quote(SNIPPET_LIMITS.person))
    expect(said('page views and actions from the browser script, per site')).toBe(quote(SNIPPET_LIMITS.site))
    expect(said('requests from the browser script, per IP address')).toBe(quote(SNIPPET_LIMITS.address))
    expect(said('wrong identity signatures, per app and IP address')).toBe(quote(SNIPPET_LIMITS.badSignatures))
    expect(said('mail server checks, per account')).toBe(quote(SERVER_CHECKS))
    expect(said('a request from the browser script')).toBe(`${MAX_BATCH_ITEMS} items, ${COLLECT_BYTES / 1024} KB`)
  })

  test('shows the tag and its policy as printed', () => {
    const baseUrl = 'https://post.example.com'
    const tag = { baseUrl, siteId: 'SITE_ID', stub: readStub() }
    const written = (text: string): string => text.replaceAll(baseUrl, '{base_url}')
    expect(read('src/docs/snippet.md')).toContain(`\n\`\`\`markup\n${written(makeSnippetTag(tag))}\n\`\`\`\n`)
    expect(read('src/docs/consent.md')).toContain(`\n${written(makeSnippetPolicy(tag))}\n`)
  })

  test('lets systemd and Docker wait long enough for a stop', () => {
    const found = [
      /^TimeoutStopSec=(\d+)$/m.exec(read('src/docs/samples/install/eventpost.service')),
      /^ +stop_grace_period: (\d+)s$/m.exec(read('src/docs/samples/install/compose.yaml')),
    ]
    for (const match of found) {
      expect(Number(match?.[1])).toBeGreaterThanOrEqual(Number(SETTINGS.stopMail.default) + 10)
    }
  })

  test('lists the current settings', () => {
    const [, section = ''] = read('src/docs/settings.md').split('\n## Flags and variables\n')
    const rows =
      section
        .split('\n## ')[0]
        ?.split('\n')
        .filter((line) => /^\| `(--|EVENTPOST_)/.test(line))
        // columns are aligned with spaces
        .map((line) => line.replaceAll(/ +/g, ' ')) ?? []
    const settings = Object.values(SETTINGS).map((setting) => {
      const shown = setting.default === '' ? '' : `\`${setting.default}\``
      // a secret is no flag
      const isFlag = !('isSecret' in setting) || 'isFlagSafe' in setting
      const names = `${isFlag ? `\`--${setting.flag}\` / ` : ''}\`${setting.env}\``
      return `| ${names} | ${shown} | ${setting.meaning} |`.replaceAll(/ +/g, ' ')
    })
    expect(rows).toEqual(settings)
  })
})
