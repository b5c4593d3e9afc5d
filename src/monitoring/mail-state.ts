import { findFrom } from '../accounts/senders.ts'
import type { AppRow } from '../accounts/access.ts'
import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { formatCount } from '../core/count.ts'
import { GIVE_UP_HOURS } from '../deliveries/decide.ts'
import { describeReason, NO_ACCESS, NO_ANSWER } from '../deliveries/describe-reason.ts'
import type { Mailer, MailRoute, Pause } from '../messages/mailer.ts'
import type { MailSettings } from '../store/message-types.ts'
import { isLinkUnreachable } from '../people/unsubscribe.ts'
import type { Brake } from '../store/brake-rules.ts'
import { MOST_QUEUED } from '../store/message-results.ts'
import type { OpenAlert } from '../store/alerts.ts'
import type { Store } from '../store/store.ts'
import { readServerAlert, subjectOf } from './alerts.ts'
import { findCurrentAlert } from './current-alert.ts'
import type { Monitor } from './monitor.ts'

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
  /** of the mail server; null: none is known */
  problem: ServerProblem | null
  /** `isOwn`: only this app is refused, not the server as a whole */
  pause: { server: string; isOwn: boolean; reason: string; until: number } | null
  /** emails that wait because the mail server can't be used. `isSilent`: it doesn't respond. Null if none does */
  stuck: { count: number; isSilent: boolean } | null
  /** lifecycle emails wait, because too many emails bounced or were reported */
  brake: Brake | null
  giveUpHours: number | null
}

/** `what`: without a full stop. `since` null: no alert is open yet. `cause` null: only the operator may know. */
export type ServerProblem = { what: string; since: number | null; cause: string | null; isWaiting: boolean }

/** Whether it must be solved, wherever it is shown: emails wait, aren't sent, or can't be unsubscribed from. */
export const IS_PROBLEM: Readonly<
  Record<'capturing' | 'unreadable' | 'unverified' | 'lostUrl' | 'server' | 'pause' | 'stuck' | 'brake', boolean>
> = {
  capturing: false,
  unreadable: true,
  unverified: true,
  lostUrl: true,
  server: true,
  pause: false,
  stuck: true,
  brake: true,
}

export const describeStuck = ({ count, isSilent }: NonNullable<MailState['stuck']>): string => {
  const waits = count === 1 ? '1 email is waiting' : `${formatMost(count)} emails are waiting`
  return `Your mail server ${isSilent ? "doesn't respond" : "can't be used"}: ${waits}.`
}

/** "Emails wait for up to 24 hours. 3 are waiting now." Empty if they don't wait. */
export function describeWait({
  problem,
  stuck,
  giveUpHours,
}: Pick<MailState, 'problem' | 'stuck' | 'giveUpHours'>): string {
  if (problem?.isWaiting === false) return ''
  const hours = giveUpHours ?? GIVE_UP_HOURS
  const most = `Emails wait for up to ${hours === 1 ? '1 hour' : `${hours} hours`}.`
  return stuck === null ? most : `${most} ${formatMost(stuck.count)} ${stuck.count === 1 ? 'is' : 'are'} waiting now.`
}

export const formatMost = (count: number): string =>
  count >= MOST_QUEUED ? `${formatCount(MOST_QUEUED)} or more` : formatCount(count)

export type MailStateDependencies = {
  store: Store
  mailer: Pick<Mailer, 'findAccepted' | 'findMailRoute' | 'findOutage' | 'findPause' | 'senders'>
  monitor: Pick<Monitor, 'seemsOver'>
  clock: Pick<Clock, 'now'>
  baseUrl: string
}

/** State of sending for an app: captured, blocked, or refused by its mail server. */
export async function readMailState(deps: MailStateDependencies, app: AppRow): Promise<MailState> {
  const { store, mailer } = deps
  const settings = await store.mailSettings(app.id)
  const { server, isOwn, isUnreadable } = mailer.findMailRoute({ settings, app })
  const pause = server === null ? null : mailer.findPause(app, settings)
  const [domains, found, stuck, brake] = await Promise.all([
    mailer.senders.listDomains(app, settings),
    server === null
      ? null
      : findCurrentAlert(deps, 'sending', subjectOf({ name: server, accountId: isOwn ? app.accountId : null })),
    server === null ? null : readStuck(deps, app),
    store.findBrake(app.id),
  ])
  const isFine = found !== null && pause === null && stuck === null && isAccepting(deps, settings, found)
  const alert = isFine ? null : found
  return {
    isCapturing: server === null && !isUnreadable,
    isUnreadable,
    hasSender: findFrom({ settings, fallback: mailer.senders.installation.from, app }) !== null,
    lostUrl: server !== null && isLinkUnreachable(deps.baseUrl) ? deps.baseUrl : null,
    unverified: domains.flatMap(({ domain, state }) => (state === 'unverified' ? [domain] : [])),
    problem: server === null ? null : findProblem({ server, isOwn, alert, pause, stuck }),
    stuck,
    pause: pause && server !== null ? { server, ...pause } : null,
    brake,
    giveUpHours: settings.giveUpHours,
  }
}

type Server = { server: string } & Pick<MailRoute, 'isOwn'>

/**
 * Emails of this login have been accepted since: the alert is about another one, or over without this instance knowing.
 * If another instance looks, only for a while: the problem may have come back during the same alert.
 */
function isAccepting(
  { mailer, monitor, clock }: MailStateDependencies,
  settings: MailSettings,
  alert: OpenAlert,
): boolean {
  const acceptedAt = mailer.findAccepted(settings)
  if (acceptedAt === null || acceptedAt <= alert.openedAt || mailer.findOutage(settings).outage !== null) return false
  const isLookedAtHere = monitor.seemsOver(alert.id) !== null
  return isLookedAtHere ? readServerAlert(alert).isOfLogin : clock.now() - acceptedAt < MINUTE_MS
}

const SILENT: readonly string[] = NO_ANSWER

type Known = Server & Pick<MailState, 'stuck'> & { alert: OpenAlert | null; pause: Pause | null }

/** What the installation's mail server said is not for its accounts, unless it refuses only this app. */
function findProblem({ server, isOwn, alert, pause, stuck }: Known): ServerProblem | null {
  const [known, name] = [`The mail server ${server}`, isOwn ? `The mail server ${server}` : SHARED_SERVER]
  const ofPause = pause && (isOwn || pause.isOwn) ? describeReason(pause.reason, '', 'deferred') : null
  if (alert !== null) {
    const { cause, isOfAll, isWaiting } = readServerAlert(alert)
    if (isOfAll || pause || stuck) {
      const ofAlert = isOwn ? cause : null
      return {
        what: alert.title.replace(known, () => name),
        since: alert.openedAt,
        cause: isOfAll || !pause?.isOwn ? ofAlert : ofPause,
        isWaiting,
      }
    }
  }
  // a pause that the server asked for is meant to end the problem
  if (pause === null || pause.isAsked) return null
  const fails = SILENT.includes(pause.reason) ? "can't be reached" : 'refuses emails'
  const what = pause.isOwn ? `${name} refuses this app's emails` : `${name} ${fails}`
  return { what, since: null, cause: ofPause, isWaiting: true }
}

const SHARED_SERVER = "This installation's mail server"

async function readStuck({ store }: MailStateDependencies, { id }: AppRow): Promise<MailState['stuck']> {
  const count = await store.countDeferred(id, [...NO_ANSWER, ...NO_ACCESS])
  return count === 0 ? null : { count, isSilent: (await store.countDeferred(id, NO_ANSWER)) > 0 }
}
