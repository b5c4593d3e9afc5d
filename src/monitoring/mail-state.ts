import { findFrom } from '../accounts/senders.ts'
import type { AppRow } from '../accounts/access.ts'
import { formatCount } from '../core/count.ts'
import { NO_ACCESS, NO_ANSWER } from '../deliveries/describe-reason.ts'
import type { Mailer } from '../messages/mailer.ts'
import { isLinkUnreachable } from '../people/unsubscribe.ts'
import type { Brake } from '../store/brake-rules.ts'
import { MOST_QUEUED } from '../store/message-results.ts'
import type { Store } from '../store/store.ts'

/** What keeps an app's emails from being sent. */
export type MailState = {
  isCapturing: boolean
  isUnreadable: boolean
  /** the app's default sender, or the installation's */
  hasSender: boolean
  /** the base URL, if recipients can't reach it */
  lostUrl: string | null
  /** domains that the account must verify first */
  unverified: string[]
  /** `isOwn`: only this app is refused, not the server as a whole */
  pause: { server: string; isOwn: boolean; reason: string; until: number } | null
  /** emails that wait because the mail server can't be used. `isSilent`: it doesn't respond. Null if none does */
  stuck: { count: number; isSilent: boolean } | null
  /** lifecycle emails wait, because too many emails bounced or were reported */
  brake: Brake | null
}

/** Whether it must be solved, wherever it is shown: emails wait, aren't sent, or can't be unsubscribed from. */
export const IS_PROBLEM: Readonly<
  Record<'capturing' | 'unreadable' | 'unverified' | 'lostUrl' | 'pause' | 'stuck' | 'brake', boolean>
> = { capturing: false, unreadable: true, unverified: true, lostUrl: true, pause: false, stuck: true, brake: true }

export const describeStuck = ({ count, isSilent }: NonNullable<MailState['stuck']>): string => {
  const waits = count === 1 ? '1 email is waiting' : `${formatMost(count)} emails are waiting`
  return `Your mail server ${isSilent ? "doesn't respond" : "can't be used"}: ${waits}.`
}

export const formatMost = (count: number): string =>
  count >= MOST_QUEUED ? `${formatCount(MOST_QUEUED)} or more` : formatCount(count)

type Dependencies = { store: Store; mailer: Pick<Mailer, 'findMailRoute' | 'findPause' | 'senders'>; baseUrl: string }

/** State of sending for an app: captured, blocked, or refused by its mail server. */
export async function readMailState(deps: Dependencies, app: AppRow): Promise<MailState> {
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

async function readStuck({ store }: Dependencies, { id }: AppRow): Promise<MailState['stuck']> {
  const [silent, refused] = await Promise.all([store.countDeferred(id, NO_ANSWER), store.countDeferred(id, NO_ACCESS)])
  return silent + refused === 0 ? null : { count: silent + refused, isSilent: silent > 0 }
}
