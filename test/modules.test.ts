/** The rules of .ci/modules.cjs, which `bun run check` holds the code to, refuse what they are meant to refuse. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..')
const folder = mkdtempSync(join(tmpdir(), 'eventpost-modules-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Checks files at these paths. */
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

test.each([
  ['a cycle of types', 'no-cycles', 'src/core/a.ts', 'src/core/b.ts', true],
  ['an import of a module above', 'people-imports', 'src/people/a.ts', 'src/events/b.ts', false],
  ['rules in the store', 'store-imports', 'src/store/a.ts', 'src/accounts/b.ts', false],
  ['core that imports anything', 'core-imports', 'src/core/a.ts', 'src/store/b.ts', false],
  ['a domain module that knows HTTP', 'people-imports', 'src/people/a.ts', 'src/http/b.ts', false],
  ['an import of a module beside', 'visits-imports', 'src/visits/a.ts', 'src/events/b.ts', false],
  ['one way in that imports another', 'api-imports', 'src/api/a.ts', 'src/mcp/b.ts', false],
])('%s is refused', async (_, rule, from, to, isMutual) => {
  const importOf = (path: string, name: string): string => `import type { ${name} } from '../../${path}'\n`
  const files = {
    [from]: `${importOf(to, 'B')}export type A = B`,
    [to]: `${isMutual ? importOf(from, 'A') : ''}export type B = ${isMutual ? 'A | 1' : '1'}`,
  }
  const { code, out } = await check(files)
  expect(out).toContain(rule)
  expect(code).not.toBe(0)
})
