/** Proves that someone previewed a message before it goes live. */
import { timingSafeEqual } from 'node:crypto'
import type { MessageRow } from '../store/message-types.ts'
import type { AppRow } from '../accounts/access.ts'

/** Any change of the content needs another token. It grants no rights. */
export const makeLiveToken = (key: string, app: AppRow, { id, content }: Pick<MessageRow, 'id' | 'content'>): string =>
  new Bun.CryptoHasher('sha256', key).update(JSON.stringify([app.publicId, id, content])).digest('base64url')

export function isLiveToken(
  token: string,
  of: { key: string; app: AppRow; message: Pick<MessageRow, 'id' | 'content'> },
): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(makeLiveToken(of.key, of.app, of.message))]
  return given.length === right.length && timingSafeEqual(given, right)
}
