/** Fails when a package that is installed has a license that asks for more than a notice. */
import { Glob } from 'bun'

/** MPL-2.0 and PSF-2.0 are those of tools that are in no build. */
const ALLOWED = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', 'CC0-1.0'],
  ...['Unlicense', 'Python-2.0', 'PSF-2.0', 'MPL-2.0', '(MIT OR CC0-1.0)', 'MIT OR Apache-2.0'],
])

const refused: string[] = []
const files = ['*', '@*/*'].flatMap((name) => [...new Glob(`${name}/package.json`).scanSync('node_modules')])
for (const path of files) {
  const { name, license } = await Bun.file(`node_modules/${path}`).json()
  if (!ALLOWED.has(license)) refused.push(`${name}: ${license ?? 'no license'}`)
}
if (files.length === 0) refused.push('no package is installed')
for (const line of refused) console.error(line)
if (refused.length > 0) process.exit(1)
