import type { CapturedMail } from '../store/message-types.ts'

export type { CapturedMail, ListedCapture } from '../store/message-types.ts'

/** Older emails have no stored content and are parsed from source; that library is loaded on demand. */
export const readCaptured = async ({ raw, content }: { raw: string; content: CapturedMail | null }) =>
  content ?? (await readSource(raw))

async function readSource(raw: string): Promise<CapturedMail> {
  const { default: PostalMime } = await import('postal-mime')
  const { from, to, subject = '', html = '', text = '' } = await PostalMime.parse(raw)
  const describe = ({ name = '', address = '' } = {}): string => (name === '' ? address : `${name} <${address}>`)
  return { from: describe(from), to: describe(to?.[0]), subject, html, text }
}
