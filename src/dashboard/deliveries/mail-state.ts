import type { AppRow } from '../../accounts/access.ts'
import { isLinkUnreachable } from '../../people/unsubscribe.ts'
import type { PageParts } from '../layout/viewer.ts'
import type { MailState } from '../layout/mail-notices.tsx'

/**
 * What the pages about mail say of sending: whether mails stay here, cannot leave or lead nowhere, and whether the app's
 * server is left alone, or its mails are refused.
 */
export async function readMailState(parts: PageParts, app: AppRow): Promise<MailState> {
  const settings = await parts.store.mailSettings(app.id)
  const { server, isUnreadable } = parts.mailer.findMailRoute(settings)
  const domains = await parts.mailer.senders.listDomains(app, settings)
  const pause = parts.mailer.findPause(app, settings)
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    lostUrl: server !== null && isLinkUnreachable(parts.baseUrl, server.replace(/:\d+$/, '')) ? parts.baseUrl : null,
    unverified: domains.flatMap(({ domain, state }) => (state === 'unverified' ? [domain] : [])),
    pause: pause && server !== null ? { server, ...pause } : null,
  }
}
