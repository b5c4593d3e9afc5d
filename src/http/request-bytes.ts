/** The body of whatever type. null, now or later: larger than allowed. */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> | null {
  const announced = request.headers.get('content-length')
  if (announced === null) return readChunks(request, maxBytes)
  return Number(announced) > maxBytes ? null : request.bytes()
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
