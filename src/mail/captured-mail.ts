import type { CapturedMail } from '../store/message-types.ts'

export type { CapturedMail, ListedCapture } from '../store/message-types.ts'

/**
 * What a captured email says. One from before its content was kept beside it is read from its source, by a library that
 * is loaded only then.
 */
export const readCaptured = async ({ raw, content }: { raw: string; content: CapturedMail | null }) =>
  content ?? (await readSource(raw))

async function readSource(raw: string): Promise<CapturedMail> {
  const { default: PostalMime } = await import('postal-mime')
  const { from, to, subject = '', html = '', text = '' } = await PostalMime.parse(raw)
  const describe = ({ name = '', address = '' } = {}): string => (name === '' ? address : `${name} <${address}>`)
  return { from: describe(from), to: describe(to?.[0]), subject, html, text }
}
