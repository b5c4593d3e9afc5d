import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dependencies, scripts } from '../../package.json'
import { DOC_PAGES } from '../../src/docs/index.ts'

const ROOT = join(import.meta.dir, '../..')
const markdownOf = (slug: string): string => DOC_PAGES.find((page) => page.slug === slug)?.markdown ?? ''
/** What the first column of a section's table names. */
const namesIn = (slug: string, heading: string): string[] => {
  const [, section = ''] = markdownOf(slug).split(`## ${heading}\n`)
  const cells = Array.from(section.split('\n## ')[0]?.matchAll(/^\| (`.+?) +\|/gm) ?? [], ([, cell = '']) => cell)
  return cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name))
}
const foldersOf = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

describe('the pages about development name', () => {
  test('every folder of the source code', () => {
    const named = namesIn('development', 'Folders').map((name) => name.replace(/^src\//, ''))
    expect(named.toSorted()).toEqual([...foldersOf('src'), '.ci', 'snippet', 'test'].toSorted())
  })

  test('only files that exist', () => {
    const paths = Array.from(markdownOf('development').matchAll(/[\w./-]+\.(?:tsx?|md|cjs)\b/g), ([path]) => path)
    const missing = paths.filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)))
    expect([paths.length > 12, missing]).toEqual([true, []])
  })

  test('every dependency', () => {
    expect(namesIn('development', 'Dependencies').toSorted()).toEqual(Object.keys(dependencies).toSorted())
  })

  test('every command, except those that others run', () => {
    const named = [
      ...['Build and run', 'Tests and checks'].flatMap((heading) => namesIn('commands', heading)),
      ...namesIn('benchmarks', 'Benchmarks'),
    ]
    const [commands, others] = [named.filter((name) => name.startsWith('bun run ')), ['start', 'assets', 'compile']]
    const known = Object.keys(scripts).filter((name) => !others.includes(name))
    expect(commands.map((command) => command.split(' ')[2] ?? '').toSorted()).toEqual(known.toSorted())
  })
})

describe('the README', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')

  test('links to files that exist', () => {
    const paths = Array.from(readme.matchAll(/\]\(([^):]+)\)/g), ([, path = '']) => path)
    expect(paths).toContain('src/docs/development.md')
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('names commands that exist', () => {
    const names = Array.from(readme.matchAll(/\bbun run ([\w:-]+)/g), ([, name = '']) => name)
    expect(names.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
    expect(names).toContain('test:faults')
  })
})
