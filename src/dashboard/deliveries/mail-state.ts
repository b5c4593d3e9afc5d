import { findFrom } from '../../accounts/senders.ts'
import type { AppRow } from '../../accounts/access.ts'
import { NO_ACCESS, NO_ANSWER } from '../../deliveries/describe-reason.ts'
import { isLinkUnreachable } from '../../people/unsubscribe.ts'
import type { PageDependencies } from '../layout/viewer.ts'
import type { MailState } from '../layout/mail-notices.tsx'

/** State of sending for an app: captured, blocked, or refused by its mail server. */
export async function readMailState(deps: PageDependencies, app: AppRow): Promise<MailState> {
  const settings = await deps.store.mailSettings(app.id)
  const { server, isUnreadable } = deps.mailer.findMailRoute({ settings, app })
  const domains = await deps.mailer.senders.listDomains(app, settings)
  const pause = deps.mailer.findPause(app, settings)
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    hasSender: findFrom({ settings, fallback: deps.mailer.senders.installation.from, app }) !== null,
    lostUrl: server !== null && isLinkUnreachable(deps.baseUrl) ? deps.baseUrl : null,
    unverified: domains.flatMap(({ domain, state }) => (state === 'unverified' ? [domain] : [])),
    stuck: server === null || pause ? null : await readStuck(deps, app),
    pause: pause && server !== null ? { server, ...pause } : null,
    brake: await deps.store.findBrake(app.id),
  }
}

async function readStuck({ store }: PageDependencies, { id }: AppRow): Promise<MailState['stuck']> {
  const [silent, refused] = await Promise.all([store.countDeferred(id, NO_ANSWER), store.countDeferred(id, NO_ACCESS)])
  return silent + refused === 0 ? null : { count: silent + refused, isSilent: silent > 0 }
}
