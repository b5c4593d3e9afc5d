/** Builds the browser script (plain and compressed) and the stub into dist/assets. */
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { minify } from 'terser'

const ROOT = join(import.meta.dir, '..')

/** Properties of the script's own objects; pages never see them, so they are shortened. */
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
  // Bun drops the types; terser saves another 3 % and renames properties
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
  // inlined into the page
  'stub.js': await build('stub.ts', 'esm'),
}
for (const [name, bytes] of Object.entries(files)) await Bun.write(join(ROOT, 'dist/assets', name), bytes)
