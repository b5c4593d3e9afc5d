import type { AppRow } from '../../accounts/access.ts'
import { ownPlaceOf } from '../../messages/mailer.ts'
import { isLinkLost } from '../../people/unsubscribe.ts'
import type { PageParts } from '../layout/viewer.ts'
import type { MailState } from '../layout/mail-notices.tsx'

/**
 * What the pages about mail say of sending: whether mails stay here, cannot leave or lead nowhere, and whether the app's
 * server is left alone, or its mails are refused.
 */
export async function readMailState(parts: PageParts, app: AppRow): Promise<MailState> {
  const settings = await parts.store.mailSettings(app.id)
  const { from, server, login, places, isUnreadable } = parts.mailer.findWay(settings)
  const domains = await parts.mailer.senders.listDomains(app, settings)
  const own = login === null ? null : ownPlaceOf(login, app.id, from)
  // how another account fares, also at the same server, is none of theirs
  const isTheirs = (place: string): boolean => place === own || places.includes(place)
  const pauses = parts.mailer.listPauses().filter(({ place, until }) => isTheirs(place) && until > parts.clock.now())
  const pause = pauses.sort((a, b) => b.until - a.until)[0]
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    lostUrl: server !== null && isLinkLost(parts.baseUrl, server.replace(/:\d+$/, '')) ? parts.baseUrl : null,
    unverified: domains.flatMap(({ domain, state }) => (state === 'unverified' ? [domain] : [])),
    pause: pause && server !== null ? { server, isOwn: pause.place === own, ...pause } : null,
  }
}
