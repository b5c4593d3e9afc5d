/** Fails when an installed package, at any depth, has a license that asks for more than a notice. */
import { existsSync } from 'node:fs'
import { Glob } from 'bun'

const PERMISSIVE = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
  'Python-2.0',
  '(MIT OR CC0-1.0)',
  'MIT OR Apache-2.0',
])
/** Licenses of build tools only. Each such package is listed. */
const REPORTED = new Set(['MPL-2.0', 'PSF-2.0', 'CC-BY-4.0'])

function listPackages(folder: string): string[] {
  const found = ['*', '@*/*'].flatMap((name) => Array.from(new Glob(`${name}/package.json`).scanSync(folder)))
  return found.flatMap((file) => {
    const path = `${folder}/${file}`
    const inner = path.replace(/package\.json$/, 'node_modules')
    return existsSync(inner) ? [path, ...listPackages(inner)] : [path]
  })
}

const refused: string[] = []
const packages = existsSync('node_modules') ? listPackages('node_modules') : []
if (packages.length === 0) refused.push('no package is installed')
for (const path of packages) {
  const { name, license } = await Bun.file(path).json()
  if (REPORTED.has(license)) console.log(`${name}: ${license}`)
  else if (!PERMISSIVE.has(license)) refused.push(`${name}: ${JSON.stringify(license) ?? 'no license'}`)
}
for (const line of refused) console.error(line)
if (refused.length > 0) process.exit(1)
