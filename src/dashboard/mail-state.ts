import type { AppRow } from '../core/access.ts'
import { isLinkLost } from '../core/unsubscribe.ts'
import type { PageParts } from './door.tsx'
import type { MailState } from './mail-notices.tsx'

/**
 * What the pages about mail say of sending: whether mails stay here, cannot leave or lead nowhere, and whether the app's
 * server is left alone, or its sender refused.
 */
export async function readMailState(parts: PageParts, app: AppRow): Promise<MailState> {
  const { server, places, from, isUnreadable } = parts.mailer.findWay(await parts.store.mailSettings(app.id))
  // how another account fares, also at the same server, is none of theirs
  const pauses = parts.mailer
    .listPauses()
    .filter(({ place, until }) => places.includes(place) && until > parts.clock.now())
  const pause = pauses.sort((a, b) => b.until - a.until)[0]
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    lostUrl: server !== null && isLinkLost(parts.baseUrl, server.replace(/:\d+$/, '')) ? parts.baseUrl : null,
    pause:
      pause && server !== null
        ? { server, sender: places.indexOf(pause.place) === 2 ? (from?.address ?? null) : null, ...pause }
        : null,
  }
}
