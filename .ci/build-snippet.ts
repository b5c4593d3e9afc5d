/** Builds the browser script into dist/assets: as it is and compressed as far as it goes, and the stub. */
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { minify } from 'terser'

const ROOT = join(import.meta.dir, '..')

/** Properties of the script's own objects. None of them is sent or seen by a page, so they get short names. */
const OWN_PROPERTIES = /^(?:person|hold|proof|report|delayMs)$/

async function build(name: string, format: 'iife' | 'esm'): Promise<Buffer> {
  const built = await Bun.build({
    entrypoints: [join(ROOT, 'snippet', name)],
    target: 'browser',
    format,
    minify: true,
  })
  const [script] = built.outputs
  if (!script) throw new Error(`${name} was not built`)
  // Bun drops the types; terser makes what remains 3 % smaller, and renames properties
  const { code = '' } = await minify(await script.text(), {
    ecma: 2020,
    toplevel: true,
    mangle: { properties: { regex: OWN_PROPERTIES } },
  })
  return Buffer.from(code.replace(/;?\n*$/, ''))
}

const script = await build('snippet.ts', 'iife')
const files = {
  's.js': script,
  's.js.br': brotliCompressSync(script, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: script.length } }),
  's.js.gz': gzipSync(script, { level: constants.Z_BEST_COMPRESSION }),
  // it stands in a script of the page, by itself
  'stub.js': await build('stub.ts', 'esm'),
}
for (const [name, bytes] of Object.entries(files)) await Bun.write(join(ROOT, 'dist/assets', name), bytes)
