import type { SignIns } from '../../accounts/sign-ins.ts'
import type { MemberRow, Sessions, SignedIn } from '../../accounts/sessions.ts'
import type { AppRow, KeyAccess } from '../../accounts/access.ts'
import type { AppAccess, Role } from '../../accounts/members.ts'
import type { Limits } from '../../accounts/limits.ts'
import type { NoteSecurity, SignInNotes } from '../../accounts/sign-in-notes.ts'
import type { Clock } from '../../core/clock.ts'
import type { Simulations } from '../../deliveries/simulation/index.ts'
import type { Notes } from '../../events/activation.ts'
import type { Monitor } from '../../monitoring/monitor.ts'
import type { Feed } from '../../events/feed.ts'
import type { Mailer } from '../../messages/mailer.ts'
import type { TemplateWorker } from '../../messages/template-worker.ts'
import type { Store } from '../../store/store.ts'
import { type Flash, type FlashText, describeFlash } from './flash.ts'

export type OwnAccount = { id: string; name: string; apps: { publicId: string; name: string }[] }

/** The member, the app they view, and their role in its account. */
export type Viewer = {
  member: Pick<MemberRow, 'id' | 'email'> & { role: Role }
  account: { id: string; name: string; requiresTwoStep: boolean }
  /** all accounts of the member, including this one */
  accounts: OwnAccount[]
  app: AppRow
  /** an owner of the account that operates the installation */
  isOperator: boolean
  /** an event or a page view of the app has arrived */
  isActivated: boolean
  /** flash message */
  flash: FlashText | null
  /** when the page was requested (ms UTC) */
  now: number
}

/** A member with their session. */
export type Who = { viewer: Viewer; signedIn: SignedIn }

/** null for unknown apps and apps of other accounts alike. */
export async function findViewer(
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  { id, email }: Pick<MemberRow, 'id' | 'email'>,
  appId: string,
  flashes: Flash[],
): Promise<Viewer | null> {
  const memberships = await store.listAppAccess(id)
  const membership = memberships.find((one) => one.appId === appId)
  const app = membership ? await store.findAppByPublicId(appId) : null
  if (!membership || !app) return null
  const flash = describeFlash(flashes, membership)
  const account = {
    id: membership.accountId,
    name: membership.accountName,
    requiresTwoStep: membership.requiresTwoStep,
  }
  const member = { id, email, role: membership.role }
  const { isActivated } = membership
  const isOperator = membership.role === 'owner' && membership.isFirst
  return { member, account, accounts: toAccounts(memberships), app, isOperator, isActivated, flash, now: clock.now() }
}

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** Sorted by name. Expects the apps of an account in sequence. */
function toAccounts(memberships: AppAccess[]): OwnAccount[] {
  const accounts: OwnAccount[] = []
  for (const { accountId, accountName, appId, appName } of memberships) {
    const app = { publicId: appId, name: appName }
    const last = accounts.at(-1)
    if (last?.id === accountId) last.apps.push(app)
    else accounts.push({ id: accountId, name: accountName, apps: [app] })
  }
  return accounts.toSorted((a, b) => byName.compare(a.name, b.name))
}

/** `addressKey` hashes visitors' addresses. */
export type PageDependencies = {
  store: Store
  clock: Clock
  access: KeyAccess
  limits: Limits
  notes: Notes
  feed: Feed
  mailer: Mailer
  monitor: Monitor
  templates: TemplateWorker
  simulations: Simulations
  sessions: Sessions
  signIns: SignIns
  signInNotes: SignInNotes
  noteSecurity: NoteSecurity
  baseUrl: string
  addressKey: string
  unsubscribeKey: string
  previewKey: string
}
