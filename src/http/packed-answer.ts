import { brotliCompressSync, gzipSync } from 'node:zlib'
import { etagOf, hasEtag, pickEncoding, type Script } from '../assets.ts'

const PACK = {
  identity: (bytes: Buffer) => bytes,
  br: (bytes: Buffer) => brotliCompressSync(bytes),
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
}

/** Serves a constant text with an ETag; made and compressed on first use. */
export function createPackedAnswer(
  makeText: () => string,
): (request: Request, headers: Record<string, string>) => Response {
  const make = () => {
    const bytes = Buffer.from(makeText())
    return { bytes, hash: Bun.SHA256.hash(bytes, 'base64url').slice(0, 16) }
  }
  let text: ReturnType<typeof make> | undefined
  const made = new Map<keyof Script, Buffer>()
  return (request, more) => {
    const { bytes, hash } = (text ??= make())
    const { encoding, suffix } = pickEncoding(request)
    const etag = etagOf(hash, suffix)
    const headers = { ...more, ETag: etag, Vary: 'Accept-Encoding' }
    if (hasEtag(request, etag)) return new Response(null, { status: 304, headers })
    const body = made.get(encoding) ?? PACK[encoding](bytes)
    made.set(encoding, body)
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(new Uint8Array(body), { headers: { ...headers, ...coded } })
  }
}
