import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Elysia } from 'elysia'

const ASSET_PREFIX = '/assets'

/**
 * `--asset dist/assets` embeds the folder by its last name, beside the executable's entry. `import.meta.dir` is no
 * guide there: with CommonJS bytecode it is the folder of the source on the machine that built the executable.
 */
const ASSET_FOLDER = Bun.isStandaloneExecutable
  ? join(dirname(Bun.main), 'assets')
  : join(import.meta.dir, '../dist/assets')

/** In the page itself, so that a browser does not ask for /favicon.ico. */
export const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='%232b4acb'/><path d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.5'/></svg>"

/** Every page names an asset with its hash, so what was fetched once never needs asking for again. */
const FOREVER = 'public, max-age=31536000, immutable'

/** The browser script as it was built: itself, and packed twice. Served by the API's room under addresses of its own. */
const SCRIPT = 's.js'

export type Script = { identity: Uint8Array<ArrayBuffer>; br: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> }

/** The browser script in its three encodings. @throws Error when it was not built */
export function readScript(): Script {
  const read = (name: string): Uint8Array<ArrayBuffer> => {
    const path = join(ASSET_FOLDER, name)
    if (!existsSync(path)) throw new Error('the browser script is not built; run `bun run assets`')
    return new Uint8Array(readFileSync(path))
  }
  return { identity: read(SCRIPT), br: read(`${SCRIPT}.br`), gzip: read(`${SCRIPT}.gz`) }
}

/** The lines that stand in a page until the browser script is there. @throws when they were not built */
export const readStub = (): string => readFileSync(join(ASSET_FOLDER, 'stub.js'), 'utf8')

export type License = { name: string; license: string; text: string }

/** Eventpost's own license, and those of everything in the executable (.ci/build-licenses.ts). @throws when not built */
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

/** Of the pages alone: the browser script is served by the API's room, and must not be kept for good. */
const PAGE_ASSET = /^(?:style\.css|islands\/[\w-]+\.js)$/

const listAssets = (): string[] =>
  readdirSync(ASSET_FOLDER, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => PAGE_ASSET.test(name))

/** Serves the stylesheet and the islands, packed where the browser takes it. @throws Error when they were not built */
export function assetRoutes() {
  if (!existsSync(ASSET_FOLDER)) throw new Error('the assets are not built; run `bun run assets`')
  const app = new Elysia()
  for (const name of listAssets()) {
    const content = new Uint8Array(readFileSync(join(ASSET_FOLDER, name)))
    let packed: Uint8Array<ArrayBuffer> | undefined
    const headers = { ...HEADERS, 'Content-Type': name.endsWith('.css') ? 'text/css;charset=utf-8' : SCRIPT_TYPE }
    app.get(`${ASSET_PREFIX}/${name}`, ({ request }) =>
      takesGzip(request)
        ? new Response((packed ??= Bun.gzipSync(content, { level: 9 })), {
            headers: { ...headers, 'Content-Encoding': 'gzip' },
          })
        : new Response(content, { headers }),
    )
  }
  return app
}

const SCRIPT_TYPE = 'text/javascript;charset=utf-8'
const HEADERS = { 'Cache-Control': FOREVER, Vary: 'Accept-Encoding' }

const takesGzip = (request: Request): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.headers.get('accept-encoding') ?? '')

const urls = new Map<string, string>()

/** Where an asset is served; the query changes with its content. @throws when there is no such asset */
export function assetUrl(name: string): string {
  const known = urls.get(name)
  if (known !== undefined) return known
  const hash = Bun.SHA256.hash(readFileSync(join(ASSET_FOLDER, name)), 'base64url').slice(0, 12)
  const url = `${ASSET_PREFIX}/${name}?v=${hash}`
  urls.set(name, url)
  return url
}
