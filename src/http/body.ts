import { type ParsedList, parseJsonList } from '../core/json.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

export const BODY_BYTES = 64 * 1024
export const BATCH_BYTES = 256 * 1024

/** Parameters other than the charset mean nothing to JSON. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const JSON_IN_UTF8 =
  /^application\/(?:[\w.+-]+\+)?json\s*(?:;(?!.*\bcharset\s*=)|;.*\bcharset\s*=\s*"?utf-?8"?\s*(?:;|$)|$)/i

const COMPRESSED = refuse('unsupported_media_type', {
  message: 'Send the body as it is, not compressed: leave the header Content-Encoding out.',
})
const NOT_UTF8 = refuse('unsupported_media_type', {
  message: 'Encode the body as UTF-8, with the header Content-Type: application/json.',
})

/**
 * Refusals: unsupported_media_type, too_large (without reading the rest), invalid_json. Item problems are reported per
 * item.
 */
export async function readJsonList(request: Request, name: string, maxBytes: number): Promise<ParsedList> {
  const bytes = startReading(request, maxBytes)
  if ('refused' in bytes) return bytes
  const body = await bytes
  return body === null ? { refused: refuse('too_large') } : parseJsonList(body, name)
}

export function startReading(request: Request, maxBytes: number): Promise<Uint8Array | null> | { refused: Refusal } {
  const { headers } = request
  const type = headers.get('content-type') ?? ''
  if (type !== 'application/json' && !JSON_IN_UTF8.test(type))
    return { refused: JSON_TYPE.test(type) ? NOT_UTF8 : refuse('unsupported_media_type') }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') return { refused: COMPRESSED }
  return readBytes(request, maxBytes) ?? { refused: refuse('too_large') }
}

export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> | null {
  const announced = request.headers.get('content-length')
  if (announced === null) return readChunks(request, maxBytes)
  return Number(announced) > maxBytes ? null : request.bytes()
}

/** Without a Content-Length. null: too large; the rest isn't read. */
async function readChunks(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
