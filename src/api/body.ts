import { parseJsonObject } from '../core/json.ts'
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
): Promise<{ object: Record<string, unknown> } | { refused: Refusal }> {
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? '')) return { refused: refuse('unsupported_media_type') }
  const bytes = await readBytes(request, maxBytes)
  return bytes === null ? { refused: refuse('too_large') } : parseJsonObject(bytes, maxDepth)
}

/** null when the body is larger than allowed; what was not read yet is left unread. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  const announced = request.headers.get('content-length')
  if (announced !== null) return Number(announced) > maxBytes ? null : request.bytes()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
