/** The rules of the house: who imports whom, what lies where, how long a file is, and that the README says what is so. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { SETTINGS } from '../src/config.ts'

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

const EVERYTHING = null
/** What each room, or file beside the rooms, may import besides itself. */
const MAY_IMPORT: Record<string, string[] | null> = {
  main: EVERYTHING,
  server: EVERYTHING,
  commands: EVERYTHING,
  config: ['core'],
  assets: [],
  api: ['core', 'assets'],
  mcp: ['core', 'docs'],
  dashboard: ['core', 'assets', 'docs'],
  operations: ['core'],
  mail: ['core'],
  docs: [],
  core: ['store'],
  store: [],
  snippet: [],
}

/** Tables, the one stylesheet, and the script that may import nothing, may be longer than others. */
const LONG = [
  'src/store/schema.ts',
  'src/store/migrations/0001_people_and_events.sql',
  'src/dashboard/style.css',
  'snippet/snippet.ts',
]
const LINES_MAX = 200

const listFiles = (folder: string): string[] =>
  existsSync(join(ROOT, folder))
    ? readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true, encoding: 'utf8' })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    : []

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const SOURCES = [...listFiles('src'), ...listFiles('snippet')]
const CODE = SOURCES.filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))

/** `src/api/events.ts` is of the room api, `src/server.ts` of server. */
const roomOf = (path: string): string => {
  const [top = '', second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.tsx?$/, '') : top
}

const importsOf = (path: string): string[] =>
  Array.from(
    read(path).matchAll(/^(?:import|export)\b[^'"]*?(?:from )?['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm),
    ([, plain, dynamic]) => plain ?? dynamic ?? '',
  )

const ownImportsOf = (path: string): string[] =>
  importsOf(path)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(path), name)))

function mayImport(from: string, to: string): boolean {
  if (to === 'package.json') return from === 'core'
  const allowed = MAY_IMPORT[from]
  return allowed === EVERYTHING || from === to || (allowed?.includes(to) ?? false)
}

describe('the rooms', () => {
  test('are known', () => {
    expect(CODE.map(roomOf).filter((room) => !(room in MAY_IMPORT))).toEqual([])
    expect(CODE.length).toBeGreaterThan(50)
  })

  test('import what the table allows', () => {
    const wrong = CODE.flatMap((path) =>
      ownImportsOf(path)
        .filter((imported) => !mayImport(roomOf(path), roomOf(imported)))
        .map((imported) => `${path} imports ${imported}`),
    )
    expect(wrong).toEqual([])
    expect(CODE.flatMap(ownImportsOf).length).toBeGreaterThan(100)
  })

  test('name their own files whole', () => {
    const missing = CODE.flatMap((path) => ownImportsOf(path).filter((name) => !existsSync(join(ROOT, name))))
    expect(missing).toEqual([])
  })

  test('keep SQLite to the store and its threads', () => {
    const wrong = CODE.filter((path) => importsOf(path).some((name) => /^(bun:sqlite|drizzle-orm)/.test(name)))
    expect(wrong.filter((path) => roomOf(path) !== 'store')).toEqual([])
  })
})

describe('the folders', () => {
  test('at the top are those of the house', () => {
    const found = readdirSync(ROOT).filter((name) => !IGNORED.includes(name))
    expect(found.filter((name) => !TOP_LEVEL.includes(name))).toEqual([])
  })

  test(`hold no file over ${LINES_MAX} lines`, () => {
    const long = SOURCES.filter((path) => read(path).trimEnd().split('\n').length > LINES_MAX)
    expect(long.filter((path) => !LONG.includes(path))).toEqual([])
  })
})

describe('the README', () => {
  test('lists the settings as they are', () => {
    const [, section = ''] = read('README.md').split('\n## Settings\n')
    const rows =
      section
        .split('\n## ')[0]
        ?.split('\n')
        .filter((line) => line.startsWith('| `--'))
        // columns are aligned with spaces
        .map((line) => line.replaceAll(/ +/g, ' ')) ?? []
    const settings = Object.values(SETTINGS).map((setting) => {
      const shown = setting.default === '' ? '' : `\`${setting.default}\``
      return `| \`--${setting.flag}\` / \`${setting.env}\` | ${shown} | ${setting.meaning} |`.replaceAll(/ +/g, ' ')
    })
    expect(rows).toEqual(settings)
  })
})
