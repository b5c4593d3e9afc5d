/** The token that says somebody has seen a message before it goes live. */
import { timingSafeEqual } from 'node:crypto'
import type { MessageRow } from '../store/message-types.ts'
import type { AppRow } from '../accounts/access.ts'

/**
 * Proves that this content of this message was previewed: whoever changes a word needs another. It says nothing about
 * who may turn it on.
 */
export const makeLiveToken = (key: string, app: AppRow, { id, content }: Pick<MessageRow, 'id' | 'content'>): string =>
  new Bun.CryptoHasher('sha256', key).update(JSON.stringify([app.publicId, id, content])).digest('base64url')

/** Whether a token is that of the message as it is now. */
export function isLiveToken(
  token: string,
  of: { key: string; app: AppRow; message: Pick<MessageRow, 'id' | 'content'> },
): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(makeLiveToken(of.key, of.app, of.message))]
  return given.length === right.length && timingSafeEqual(given, right)
}
