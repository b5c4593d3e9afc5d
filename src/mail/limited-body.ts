/** null: longer than that, or broken off. */
export async function readLimited(body: AsyncIterable<Uint8Array> | null, mostBytes: number): Promise<string | null> {
  try {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of body ?? []) {
      bytes += chunk.length
      if (bytes > mostBytes) return null
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } catch {
    return null
  }
}
