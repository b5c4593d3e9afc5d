/** Builds the stylesheet and the islands into dist/assets/pages with hashed names, plain and compressed. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dir, '..')
const ASSETS = join(ROOT, 'dist/assets')

// files of an earlier build have other names and would be embedded too
rmSync(ASSETS, { recursive: true, force: true })
const { outputs } = await Bun.build({
  entrypoints: process.argv.slice(2).map((entry) => join(ROOT, entry)),
  root: join(ROOT, 'src/dashboard'),
  outdir: join(ASSETS, 'pages'),
  naming: '[dir]/[name]-[hash].[ext]',
  target: 'browser',
  minify: true,
})
for (const { path } of outputs) {
  const bytes = readFileSync(path)
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  )
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }))
}
