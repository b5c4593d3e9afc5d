/** The largest form taken where nothing else is said; all fields of such a form are far below it. */
const FORM_BYTES = 32 * 1024

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** A missing field is an empty one; of a field sent twice the first counts. */
export type Form = {
  text(name: string): string
  /** all of it, to be sent again */
  fields: Record<string, string>
}

/** Reads what a plain HTML form sends, up to `mostBytes`. Refused before the rest of it is read when it is too large. */
export async function readForm(
  request: Request,
  mostBytes = FORM_BYTES,
): Promise<Form | { refusal: 'unsupported_form' | 'large_form' }> {
  if (!FORM_TYPE.test(request.headers.get('content-type') ?? '')) return { refusal: 'unsupported_form' }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > mostBytes) return { refusal: 'large_form' }
    chunks.push(chunk)
  }
  const sent = [...new URLSearchParams(Buffer.concat(chunks).toString('utf8'))]
  // of two with one name Object.fromEntries keeps the later
  return toForm(Object.fromEntries(sent.toReversed()))
}

export const toForm = (fields: Form['fields']): Form => ({
  text: (name) => (Object.hasOwn(fields, name) ? (fields[name] ?? '') : ''),
  fields,
})
