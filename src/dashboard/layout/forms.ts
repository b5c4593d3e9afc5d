/** Default limit of a form. */
const FORM_BYTES = 32 * 1024

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Missing fields are empty; the first of duplicates counts. */
export type FormInput = {
  text(name: string): string
  /** all fields, for resubmission */
  fields: Record<string, string>
}

/** Reads a form of up to `mostBytes`; stops reading a larger one. */
export async function readForm(
  request: Request,
  mostBytes = FORM_BYTES,
): Promise<FormInput | { refusal: 'unsupported_form' | 'large_form' }> {
  if (!FORM_TYPE.test(request.headers.get('content-type') ?? '')) return { refusal: 'unsupported_form' }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > mostBytes) return { refusal: 'large_form' }
    chunks.push(chunk)
  }
  const sent = [...new URLSearchParams(Buffer.concat(chunks).toString('utf8'))]
  // Object.fromEntries would keep the last duplicate
  return toForm(Object.fromEntries(sent.toReversed()))
}

export const toForm = (fields: FormInput['fields']): FormInput => ({
  text: (name) => (Object.hasOwn(fields, name) ? (fields[name] ?? '') : ''),
  fields,
})

/** The app page that a form's path belongs to; `/` if none. */
export const pageAbove = (pathname: string): string =>
  /^\/apps\/[^/]+\/(?:sender\/(?:server|domain|limits)(?![^/])|[^/]+)/.exec(pathname)?.[0] ?? '/'
