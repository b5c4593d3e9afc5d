/** A text that stays the same while the process runs: packed where the caller takes it, and not sent to who has it. */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { etagOf, hasEtag, pickEncoding, type Script } from '../assets.ts'

const PACK = {
  identity: (bytes: Buffer) => bytes,
  br: (bytes: Buffer) => brotliCompressSync(bytes),
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
}

/** Answers GET with a text; each form of it is made when it is first asked for. */
export function createPackedAnswer(text: string): (request: Request, headers: Record<string, string>) => Response {
  const bytes = Buffer.from(text)
  const hash = Bun.SHA256.hash(bytes, 'base64url').slice(0, 16)
  const made = new Map<keyof Script, Buffer>()
  return (request, more) => {
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
