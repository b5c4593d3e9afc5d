/**
 * Builds dist/assets/licenses.txt: our license, those of the packages that the bundler reads for `compile` and
 * `assets`, and the runtime's (.ci/bundled-licenses.txt).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { license, scripts, version } from '../package.json'

const ROOT = join(import.meta.dir, '..')
const BAR = '='.repeat(78)
/** Its text is in the notices of the runtime. */
const REFERRED = 'Apache-2.0'

type Package = { name: string; version: string; license: string; author?: string | { name: string } }

const entriesOf = (script: string): string[] => [...new Set(script.match(/\bsrc\/[\w/-]+\.(?:ts|css)\b/g) ?? [])]

async function listInputs(entries: string[], target: 'bun' | 'browser'): Promise<string[]> {
  const built = await Bun.build({
    entrypoints: entries.map((entry) => join(ROOT, entry)),
    root: ROOT,
    target,
    metafile: true,
  })
  return Object.keys(built.metafile?.inputs ?? {})
}

/** null for one of our own files */
function findPackage(input: string): string | null {
  if (!input.includes('node_modules/')) return null
  let folder = dirname(join(ROOT, input.slice(input.indexOf('node_modules/'))))
  while (!isPackage(folder)) folder = dirname(folder)
  return folder
}

/** Some packages have nested package.json files without a name. */
function isPackage(folder: string): boolean {
  const file = join(folder, 'package.json')
  return existsSync(file) && 'name' in readPackage(folder) && 'version' in readPackage(folder)
}

const readPackage = (folder: string): Package => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

function describePackage(folder: string): string {
  const { name, version, license, author } = readPackage(folder)
  const head = `${BAR}\n${name} ${version}\nLicense: ${license}\nhttps://www.npmjs.com/package/${name}\n`
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  if (files.length > 0) {
    return [head, ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n') + '\n'
  }
  if (license !== REFERRED) throw new Error(`${name} has no license file; add its text to .ci/bundled-licenses.txt`)
  const holder = typeof author === 'object' ? author.name : (author ?? name)
  return `${head}\nCopyright (c) ${holder}\n\nThe text is at the end of this file ("Apache License, version 2.0").\n`
}

const inputs = [
  ...(await listInputs(entriesOf(scripts.compile), 'bun')),
  ...(await listInputs(entriesOf(scripts.assets), 'browser')),
]
const folders = [...new Set(inputs.flatMap((input) => findPackage(input) ?? []))].sort()
const own = `${BAR}\nEventpost ${version}\nLicense: ${license}\n\n${readFileSync(join(ROOT, 'LICENSE'), 'utf8').trim()}\n`
const intro =
  'The executable contains Eventpost, the packages below, and Bun with the libraries that are linked into it.\n'
const runtime = readFileSync(join(import.meta.dir, 'bundled-licenses.txt'), 'utf8')
const text = [intro, own, ...folders.map(describePackage), runtime].join('\n')
await Bun.write(join(ROOT, 'dist/assets/licenses.txt'), text.replaceAll('\r\n', '\n'))
