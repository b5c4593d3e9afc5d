/** A text that stays the same while the process runs: packed where the caller takes it, and not sent to who has it. */
import { brotliCompressSync, gzipSync } from 'node:zlib'

export type Encoding = 'identity' | 'br' | 'gzip'

/** The smallest first, and what the ETag of each ends in. */
const PACKED = [
  ['br', '-br'],
  ['gzip', '-gz'],
] as const satisfies [Encoding, string][]

/** The smallest form that an Accept-Encoding header takes, and what its ETag ends in. */
export function pickEncoding(accepted: string): [Encoding, string] {
  const taken = new Set(
    accepted
      .toLowerCase()
      .split(',')
      .map((one) => one.split(';').map((part) => part.trim()))
      .filter(([, quality = 'q=1']) => Number(quality.replace(/^q=/, '')) > 0)
      .map(([name]) => name),
  )
  return PACKED.find(([encoding]) => taken.has(encoding)) ?? ['identity', '']
}

/** Weakly compared, as GET does (RFC 9110, 13.1.2). */
export function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag)
}

const PACK = {
  identity: (bytes: Buffer) => bytes,
  br: (bytes: Buffer) => brotliCompressSync(bytes),
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
}

/** Answers GET with a text; each form of it is made when it is first asked for. */
export function createPackedAnswer(text: string): (request: Request, headers: Record<string, string>) => Response {
  const bytes = Buffer.from(text)
  const hash = Bun.SHA256.hash(bytes, 'base64url').slice(0, 16)
  const made = new Map<Encoding, Buffer>()
  return (request, more) => {
    const [encoding, suffix] = pickEncoding(request.headers.get('accept-encoding') ?? '')
    const etag = `"${hash}${suffix}"`
    const headers = { ...more, ETag: etag, Vary: 'Accept-Encoding' }
    if (isKnown(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })
    const body = made.get(encoding) ?? PACK[encoding](bytes)
    made.set(encoding, body)
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(new Uint8Array(body), { headers: { ...headers, ...coded } })
  }
}
