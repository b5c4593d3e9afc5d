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
  const { headers } = request
  if (!JSON_TYPE.test(headers.get('content-type') ?? '')) return { refused: refuse('unsupported_media_type') }
  const announced = headers.get('content-length')
  if (Number(announced) > maxBytes) return { refused: refuse('too_large') }
  const bytes = announced === null ? await readChunks(request, maxBytes) : await request.bytes()
  return bytes === null ? { refused: refuse('too_large') } : parseJsonObject(bytes, maxDepth)
}

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
