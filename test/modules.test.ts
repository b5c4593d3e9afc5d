/** The rules of .ci/modules.cjs, which `bun run check` holds the code to, refuse what they are meant to refuse. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const ROOT = join(import.meta.dir, '..')
const folder = mkdtempSync(join(tmpdir(), 'eventpost-modules-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Checks files at these paths, by their path. */
async function check(files: Record<string, string>): Promise<{ code: number; out: string }> {
  const place = mkdtempSync(join(folder, 'case-'))
  const all = { ...files, 'tsconfig.json': '{ "compilerOptions": { "moduleResolution": "bundler" } }' }
  for (const [path, text] of Object.entries(all)) await Bun.write(join(place, path), text)
  const words = [join(ROOT, 'node_modules/.bin/depcruise'), '--config', join(ROOT, '.ci/modules.cjs'), 'src']
  const child = Bun.spawn(words, { cwd: place, stdout: 'pipe', stderr: 'pipe' })
  return { out: await new Response(child.stdout).text(), code: await child.exited }
}

test('modules may import those below them', async () => {
  const files = { 'src/people/a.ts': `import '../core/b.ts'`, 'src/core/b.ts': 'export const B = 1' }
  expect(await check(files)).toMatchObject({ code: 0 })
})

const REFUSED: [what: string, rule: string, from: string, to: string, isMutual: boolean][] = [
  ['a cycle of types', 'no-cycles', 'src/core/a.ts', 'src/core/b.ts', true],
  ['an import of a module above', 'people-imports', 'src/people/c.ts', 'src/events/d.ts', false],
  ['rules in the store', 'store-imports', 'src/store/e.ts', 'src/accounts/f.ts', false],
  ['core that imports anything', 'core-imports', 'src/core/g.ts', 'src/store/h.ts', false],
  ['a domain module that knows HTTP', 'people-imports', 'src/people/i.ts', 'src/http/j.ts', false],
  ['an import of a module beside', 'visits-imports', 'src/visits/k.ts', 'src/events/l.ts', false],
  ['one way in that imports another', 'api-imports', 'src/api/m.ts', 'src/mcp/n.ts', false],
]

describe('all in one check', () => {
  let checked: Awaited<ReturnType<typeof check>>
  beforeAll(async () => {
    const importOf = (path: string, name: string): string => `import type { ${name} } from '../../${path}'\n`
    const files = REFUSED.flatMap(([, , from, to, isMutual]) => [
      [from, `${importOf(to, 'B')}export type A = B`],
      [to, `${isMutual ? importOf(from, 'A') : ''}export type B = ${isMutual ? 'A | 1' : '1'}`],
    ])
    checked = await check(Object.fromEntries(files))
  })

  test.each(REFUSED)('%s is refused', (_, rule, from, to) => {
    const told = stripVTControlCharacters(checked.out).replaceAll(/\s+/g, ' ')
    expect(told).toContain(`error ${rule}: ${from} → ${to}`)
  })

  test('and nothing else', () => {
    expect([...checked.out.matchAll(/error .*:/g)]).toHaveLength(REFUSED.length)
    expect(checked.code).not.toBe(0)
  })
})
