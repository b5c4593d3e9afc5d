import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { etagOf, hasEtag, pickEncoding, type Script } from '../assets.ts'
import { createLazy } from '../core/lazy.ts'

const packBrotli = promisify<Buffer, Buffer>(brotliCompress)
const packGzip = promisify<Buffer, { level: number }, Buffer>(gzip)

/** On another thread: Brotli takes half a second for the documentation (measured). */
const PACK: Record<keyof Script, (bytes: Buffer) => Promise<Buffer>> = {
  identity: async (bytes) => bytes,
  br: packBrotli,
  gzip: (bytes) => packGzip(bytes, { level: 9 }),
}

/** Serves a constant text with an ETag; made and compressed on first use. */
export function createPackedAnswer(
  makeText: () => string,
): (request: Request, headers: Record<string, string>) => Promise<Response> {
  const make = () => {
    const bytes = Buffer.from(makeText())
    return { bytes, hash: Bun.SHA256.hash(bytes, 'base64url').slice(0, 16) }
  }
  let text: ReturnType<typeof make> | undefined
  const read = () => (text ??= make())
  const pack = (encoding: keyof Script) => createLazy(() => PACK[encoding](read().bytes))
  const packed = { identity: pack('identity'), br: pack('br'), gzip: pack('gzip') }
  return async (request, more) => {
    const { hash } = read()
    const { encoding, suffix } = pickEncoding(request)
    const etag = etagOf(hash, suffix)
    const headers = { ...more, ETag: etag, Vary: 'Accept-Encoding' }
    if (hasEtag(request, etag)) return new Response(null, { status: 304, headers })
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(new Uint8Array(await packed[encoding].get()), { headers: { ...headers, ...coded } })
  }
}
