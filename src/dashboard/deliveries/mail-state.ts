import type { AppRow } from '../../accounts/access.ts'
import { isLinkLost } from '../../people/unsubscribe.ts'
import type { PageParts } from '../layout/viewer.ts'
import type { MailState } from '../layout/mail-notices.tsx'

/** State of sending for an app: captured, blocked, or refused by its mail server. */
export async function readMailState(parts: PageParts, app: AppRow): Promise<MailState> {
  const settings = await parts.store.mailSettings(app.id)
  const { server, isUnreadable } = parts.mailer.findWay(settings)
  const domains = await parts.mailer.senders.listDomains(app, settings)
  const pause = parts.mailer.findPause(app, settings)
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    lostUrl: server !== null && isLinkLost(parts.baseUrl, server.replace(/:\d+$/, '')) ? parts.baseUrl : null,
    unverified: domains.flatMap(({ domain, state }) => (state === 'unverified' ? [domain] : [])),
    pause: pause && server !== null ? { server, ...pause } : null,
  }
}
