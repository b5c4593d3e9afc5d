/** null, now or later: too large. */
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
