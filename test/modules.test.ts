/** The rules of .ci, which `bun run check` holds the code to, refuse what they are meant to refuse. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const ROOT = join(import.meta.dir, '..')
const folder = mkdtempSync(join(tmpdir(), 'eventpost-modules-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a tool of `bun run check` on files at these paths. */
async function runOn(files: Record<string, string>, [tool = '', ...args]: string[]) {
  const place = mkdtempSync(join(folder, 'case-'))
  const all = { ...files, 'tsconfig.json': '{ "compilerOptions": { "moduleResolution": "bundler", "strict": true } }' }
  for (const [path, text] of Object.entries(all)) await Bun.write(join(place, path), text)
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'))
  const words = [join(ROOT, 'node_modules/.bin', tool), ...args]
  const child = Bun.spawn(words, { cwd: place, stdout: 'pipe', stderr: 'pipe' })
  return { out: await new Response(child.stdout).text(), code: await child.exited }
}

const check = (files: Record<string, string>) =>
  runOn(files, ['depcruise', '--config', join(ROOT, '.ci/modules.cjs'), 'src', 'test'])

/** Modules may import those below them. */
const ALLOWED = {
  'src/people/low.ts': `import '../core/low.ts'`,
  'src/core/low.ts': 'export const B = 1',
  'test/people/low.test.ts': `import '../../src/people/low.ts'`,
}

const REFUSED: [what: string, rule: string, from: string, to: string, isMutual: boolean][] = [
  ['a cycle of types', 'no-cycles', 'src/core/a.ts', 'src/core/b.ts', true],
  ['an import of a module above', 'people-imports', 'src/people/c.ts', 'src/events/d.ts', false],
  ['rules in the store', 'store-imports', 'src/store/e.ts', 'src/accounts/f.ts', false],
  ['core that imports anything', 'core-imports', 'src/core/g.ts', 'src/store/h.ts', false],
  ['a domain module that knows HTTP', 'people-imports', 'src/people/i.ts', 'src/http/j.ts', false],
  ['an import of a module beside', 'visits-imports', 'src/visits/k.ts', 'src/events/l.ts', false],
  ['one way in that imports another', 'api-imports', 'src/api/m.ts', 'src/mcp/n.ts', false],
  ['an entry point that imports past its module', 'main-imports', 'src/main.ts', 'src/api/o.ts', false],
  ['an unknown module', 'known-modules', 'src/helpers/p.ts', 'src/mcp/q.ts', false],
  ['an import of an unknown module', 'cli-imports', 'src/cli/r.ts', 'src/other.ts', false],
  ['an import of a test', 'no-tests-in-src', 'src/ops/s.ts', 'test/ops/t.ts', false],
  ['a cycle of tests', 'no-cycles', 'test/ops/u.ts', 'test/ops/v.ts', true],
]

describe('all in one check', () => {
  let checked: Awaited<ReturnType<typeof check>>
  beforeAll(async () => {
    const importOf = (name: string, path: string, by: string): string =>
      `import type { ${name} } from './${relative(dirname(by), path)}'\n`
    const files = REFUSED.flatMap(([, , from, to, isMutual]) => [
      [from, `${importOf('B', to, from)}export type A = B`],
      [to, `${isMutual ? importOf('A', from, to) : ''}export type B = ${isMutual ? 'A | 1' : '1'}`],
    ])
    checked = await check({ ...Object.fromEntries(files), ...ALLOWED })
  })

  test.each(REFUSED)('%s is refused', (_, rule, from, to) => {
    const output = stripVTControlCharacters(checked.out).replaceAll(/\s+/g, ' ')
    expect(output).toContain(`error ${rule}: ${from} → ${to}`)
  })

  test('and nothing else', () => {
    expect(checked.out).toContain(`${2 * REFUSED.length + Object.keys(ALLOWED).length} modules`)
    expect([...checked.out.matchAll(/error .*:/g)]).toHaveLength(REFUSED.length)
    expect(checked.code).not.toBe(0)
  })
})

const LINTED: [rule: string, path: string, line: string][] = [
  ['no-explicit-any', 'src/api/any.ts', 'export const read = (value: any): unknown => value'],
  ['no-non-null-assertion', 'src/api/sure.ts', 'export const read = (list: string[]) => list[0]!'],
  ['no-floating-promises', 'src/api/float.ts', 'export const read = () => { Promise.resolve() }'],
  ['no-misused-promises', 'src/api/misuse.ts', 'export const read = () => (Promise.resolve(false) ? 1 : 2)'],
  ['only-throw-error', 'src/api/throw.ts', "export const read = () => { throw 'no' }"],
  ['no-restricted-types', 'src/people/request.ts', 'export const read = (request: Request) => request.url'],
  ['no-restricted-globals', 'src/mail/answer.ts', "export const answer = () => new Response('')"],
]

describe('the linter', () => {
  let linted: Awaited<ReturnType<typeof runOn>>
  beforeAll(async () => {
    const files = Object.fromEntries(LINTED.map(([, path, line]) => [path, line]))
    const others = {
      'src/api/fine.ts': 'export const read = (request: Request) => request.url',
      'src/people/fine.ts': 'export const A = 1',
    }
    linted = await runOn({ ...files, ...others }, ['oxlint', '-f', 'unix', '-c', join(ROOT, '.ci/oxlint.json'), 'src'])
  })

  test.each(LINTED)('refuses with %s', (rule, path) => {
    expect(linted.out).toMatch(new RegExp(`^${path}:.*\\b${rule}\\b`, 'm'))
  })

  test('and nothing else', () => {
    expect(linted.out.match(/^src\//gm)).toHaveLength(LINTED.length)
    expect(linted.code).not.toBe(0)
  })
})

test('an export that only tests use is refused, unless its file uses it', async () => {
  const { knip } = await Bun.file(join(ROOT, 'package.json')).json()
  const { out, code } = await runOn(
    {
      'package.json': JSON.stringify({ name: 'x', type: 'module', knip }),
      '.ci/knip-production.ts': await Bun.file(join(ROOT, '.ci/knip-production.ts')).text(),
      'src/writer.ts': "import { used } from './core/a.ts'\nused()",
      'src/core/a.ts': [
        'export const inner = 1',
        'export const used = () => inner',
        'export const tested = 2',
        'export type Tested = string',
      ].join('\n'),
      'test/a.test.ts':
        "import { inner, tested, type Tested } from '../src/core/a.ts'\nexport const T: Tested = `${inner + tested}`",
    },
    ['knip', '--production', '--exports', '--files', '-c', '.ci/knip-production.ts'],
  )
  expect([...out.matchAll(/^(\w+) .*src/gm)].map(([, name]) => name)).toEqual(['tested', 'Tested'])
  expect(code).not.toBe(0)
})
