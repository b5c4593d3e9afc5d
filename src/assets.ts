import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { staticPlugin } from '@elysiajs/static'
import { Elysia } from 'elysia'

const ASSET_PREFIX = '/assets'

/**
 * `--asset dist/assets` embeds the folder beside the executable's entry. With CommonJS bytecode `import.meta.dir` is
 * the build machine's folder.
 */
const ASSET_FOLDER = Bun.isStandaloneExecutable
  ? join(dirname(Bun.main), 'assets')
  : join(import.meta.dir, '../dist/assets')

export const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='%232b4acb'/><path d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.5'/></svg>"

export const FOREVER = 'public, max-age=31536000, immutable'

const SCRIPT = 's.js'

export type Script = { identity: Uint8Array<ArrayBuffer>; br: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> }

export function readScript(): Script {
  const read = (name: string): Uint8Array<ArrayBuffer> => {
    const path = join(ASSET_FOLDER, name)
    if (!existsSync(path)) throw new Error('the browser script is not built; run `bun run assets`')
    return new Uint8Array(readFileSync(path))
  }
  return { identity: read(SCRIPT), br: read(`${SCRIPT}.br`), gzip: read(`${SCRIPT}.gz`) }
}

export const readStub = (): string => readFileSync(join(ASSET_FOLDER, 'stub.js'), 'utf8')

export type License = { name: string; license: string; text: string }

export function readLicenses(): { text: string; parts: License[] } {
  const text = readFileSync(join(ASSET_FOLDER, 'licenses.txt'), 'utf8')
  const [, ...sections] = text.split(LICENSE_BAR)
  const parts = sections.map((section) => {
    const [, name = '', license = '', rest = ''] = /^([^\n]+)\nLicense: ([^\n]+)\n(.*)$/s.exec(section) ?? []
    return { name, license, text: rest.trim() }
  })
  return { text, parts }
}

const LICENSE_BAR = `${'='.repeat(78)}\n`

const PAGE_FOLDER = join(ASSET_FOLDER, 'pages')
const HASHED = /^(?<stem>.+)-(?<hash>[0-9a-z]{8})(?<extension>\.\w+)$/

const listPageAssets = (): string[] =>
  readdirSync(PAGE_FOLDER, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => HASHED.test(file))

/** @throws Error when they were not built */
export function assetRoutes() {
  if (!existsSync(PAGE_FOLDER)) throw new Error('the assets are not built; run `bun run assets`')
  let files: ReturnType<typeof openFiles> | undefined
  const app = new Elysia()
  for (const file of listPageAssets()) {
    const hash = HASHED.exec(file)?.groups?.hash ?? ''
    const type = file.endsWith('.css') ? 'text/css;charset=utf-8' : 'text/javascript;charset=utf-8'
    app.get(`${ASSET_PREFIX}/${file}`, async ({ request }) => {
      const { encoding, suffix } = pickEncoding(request)
      const etag = etagOf(hash, suffix)
      if (hasEtag(request, etag)) return new Response(null, { status: 304, headers: { ...ASSET_HEADERS, ETag: etag } })
      const { handle } = await (files ??= openFiles())
      const response = await handle(new Request(`http://localhost${ASSET_PREFIX}/${file}${suffix}`))
      response.headers.set('Content-Type', type)
      response.headers.set('ETag', etag)
      if (encoding !== 'identity') response.headers.set('Content-Encoding', encoding)
      return response
    })
  }
  return app
}

/** At the first request, because it reads every file. Its ETag is unquoted and the same for all encodings. */
const openFiles = () =>
  staticPlugin({
    assets: PAGE_FOLDER,
    prefix: ASSET_PREFIX,
    alwaysStatic: true,
    indexHTML: false,
    etag: false,
    headers: ASSET_HEADERS,
  })

const ASSET_HEADERS = { 'Cache-Control': FOREVER, Vary: 'Accept-Encoding' }

type Packing = { encoding: keyof Script; suffix: string }

const PACKINGS: Packing[] = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
]

/** The one that the client prefers; `br` if it has no preference (RFC 9110, 12.5.3). */
export function pickEncoding(request: Request): Packing {
  const qualityOf = createQualities(request)
  const [best] = PACKINGS.filter(({ encoding }) => qualityOf(encoding) > 0).sort(
    (one, other) => qualityOf(other.encoding) - qualityOf(one.encoding),
  )
  return best ?? { encoding: 'identity', suffix: '' }
}

export const acceptsGzip = (request: Request): boolean => createQualities(request)('gzip') > 0

function createQualities({ headers }: Request): (encoding: string) => number {
  const wanted = readQualities(headers.get('accept-encoding') ?? '')
  return (encoding) => wanted.get(encoding) ?? wanted.get('*') ?? 0
}

const readQualities = (header: string): Map<string, number> =>
  new Map(
    header
      .toLowerCase()
      .split(',')
      .map((one) => one.split(';').map((part) => part.trim()))
      .map(([name = '', quality = 'q=1']) => [name, Number(quality.replace(/^q=/, ''))]),
  )

export const etagOf = (hash: string, suffix: string): string => `"${hash}${suffix.replace('.', '-')}"`

/** Weak comparison (RFC 9110, 13.1.2). */
export function hasEtag({ headers }: Request, etag: string): boolean {
  const known = headers.get('if-none-match')?.split(',') ?? []
  return known.some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag)
}

let urls: Map<string, string> | null = null

/** @throws when there is no such asset */
export function assetUrl(name: string): string {
  urls ??= new Map(
    listPageAssets().map((file) => [file.replace(HASHED, '$<stem>$<extension>'), `${ASSET_PREFIX}/${file}`]),
  )
  const url = urls.get(name)
  if (url === undefined) throw new Error(`there is no asset ${name}; run \`bun run assets\``)
  return url
}
