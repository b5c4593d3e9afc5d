import { type ParsedObject, parseJsonObject } from '../core/json.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

/** The largest bodies taken (api.md, Errors). */
export const BODY_BYTES = 64 * 1024
export const BATCH_BYTES = 256 * 1024

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/**
 * Reads a body as one JSON object. Refused with unsupported_media_type, too_large (before the rest of it is read),
 * invalid_json, or invalid_field for values that JSON allows and we cannot keep.
 */
export async function readJson(
  request: Request,
  { maxBytes, maxDepth }: { maxBytes: number; maxDepth?: number },
): Promise<ParsedObject> {
  const bytes = startReading(request, maxBytes)
  if ('refused' in bytes) return bytes
  return parseBody(await bytes, maxDepth)
}

/** Begins to read, or refuses by what the headers say. null: larger than allowed. */
export function startReading(request: Request, maxBytes: number): Promise<Uint8Array | null> | { refused: Refusal } {
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? '')) return { refused: refuse('unsupported_media_type') }
  return readBytes(request, maxBytes) ?? { refused: refuse('too_large') }
}

/** The body of whatever type. null, now or later: larger than allowed. */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> | null {
  const announced = request.headers.get('content-length')
  if (announced === null) return readChunks(request, maxBytes)
  return Number(announced) > maxBytes ? null : request.bytes()
}

export const parseBody = (bytes: Uint8Array | null, maxDepth?: number): ParsedObject =>
  bytes === null ? { refused: refuse('too_large') } : parseJsonObject(bytes, maxDepth)

/** A body that does not say how long it is. null when it is larger than allowed; the rest is left unread. */
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
