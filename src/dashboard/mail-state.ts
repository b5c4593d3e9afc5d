import type { AppRow } from '../core/access.ts'
import { isCapturing } from '../core/delivery-lists.ts'
import type { PageParts } from './door.tsx'
import type { MailState } from './mail-notices.tsx'

/** What the pages about mail say of sending: whether mails stay here, and which of the app's servers is left alone. */
export async function readMailState(parts: PageParts, app: AppRow): Promise<MailState> {
  const { server } = parts.mailer.findWay(await parts.store.mailSettings(app.id))
  return {
    isCapturing: await isCapturing(parts, app),
    // another account's server is none of theirs
    pauses: parts.mailer.listPauses().filter((pause) => pause.server === server),
  }
}
