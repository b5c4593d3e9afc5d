/** Default limit of a form. */
const FORM_BYTES = 32 * 1024

const MULTIPART_TYPE = /^multipart\/form-data\s*;/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Missing fields are empty; the first of duplicates counts. */
export type FormInput = {
  text(name: string): string
  /** all fields, for resubmission */
  fields: Record<string, string>
}

type FormLimits = { mostBytes?: number; hasFiles?: boolean }

/** Reads a form of up to `mostBytes`; stops reading a larger one. */
export async function readForm(
  request: Request,
  { mostBytes = FORM_BYTES, hasFiles = false }: FormLimits = {},
): Promise<FormInput | { refusal: 'unsupported_form' | 'large_form' }> {
  const type = request.headers.get('content-type') ?? ''
  const isMultipart = hasFiles && MULTIPART_TYPE.test(type)
  if (!isMultipart && !FORM_TYPE.test(type)) return { refusal: 'unsupported_form' }
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > mostBytes) return { refusal: 'large_form' }
    chunks.push(chunk)
  }
  if (isMultipart) return readMultipart(new Blob(chunks), type)
  const sent = [...new URLSearchParams(Buffer.concat(chunks).toString('utf8'))]
  // Object.fromEntries would keep the last duplicate
  return toForm(Object.fromEntries(sent.toReversed()))
}

/** A file field has the text of its file. */
async function readMultipart(body: Blob, type: string): Promise<FormInput | { refusal: 'unsupported_form' }> {
  const data = await new Response(body, { headers: { 'Content-Type': type } }).formData().catch(() => null)
  if (data === null) return { refusal: 'unsupported_form' }
  const sent = await Promise.all(
    Array.from(data, async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()] as const),
  )
  return toForm(Object.fromEntries(sent.toReversed()))
}

export const toForm = (fields: FormInput['fields']): FormInput => ({
  text: (name) => (Object.hasOwn(fields, name) ? (fields[name] ?? '') : ''),
  fields,
})

/** The app page that a form's path belongs to; `/` if none. */
export const pageAbove = (pathname: string): string =>
  /^\/apps\/[^/]+\/(?:sender\/(?:server|domain|limits|opt-in|rates|topics)(?![^/])|[^/]+)/.exec(pathname)?.[0] ?? '/'
