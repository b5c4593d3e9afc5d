/** Which addresses an app may send from, and whether its account has verified their domains. */
import { registeredDomain } from '../core/registered-domain.ts'
import type { Installation, Mail, MailSettings, SenderProof } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { findAddress } from './account-rules.ts'
import { type DnsRecord, type PublishedDkim, publishedOf, readDkimKeys } from './dkim.ts'
import { findPublished } from './sender-checks.ts'
import { readEmail } from '../core/email.ts'
import { makeMailbox, type Mailbox } from '../core/mail-addresses.ts'
import type { Clock } from '../core/clock.ts'
import type { FieldError } from '../core/refusals.ts'
import type { ResolveTxt } from './sender-checks.ts'

export type { Installation }

export const SENDER_PROBLEMS = ['no_sender', 'sender_not_listed', 'sender_unverified'] as const

export type SenderProblem = { code: (typeof SENDER_PROBLEMS)[number]; message: string; record: DnsRecord | null }

/** `not_needed`: only this account's email uses the server. `record` is null once verified. */
export type DomainStatus = {
  domain: string
  state: 'verified' | 'unverified' | 'not_needed'
  proof: SenderProof | null
  record: DnsRecord | null
}

type UnverifiedDomain = { domain: string; accountId: string; appId: string; verifiedBy: string[] }

/** `fallback`: the installation's sender. */
type FromSources = {
  mail?: Pick<Mail, 'fromEmail' | 'fromName'>
  settings: Pick<MailSettings, 'fromEmail' | 'fromName'>
  fallback: Mailbox | null
  app: Pick<AppRow, 'name'>
}

/**
 * The message's sender, else the app's, else the installation's. A name without an address goes with the next address
 * found. Without any name, it is the app's.
 */
export function findFrom({ mail = {}, settings, fallback, app }: FromSources): Mailbox | null {
  const address = findAddress({ mail, settings, fallback })
  const name = mail.fromName || settings.fromName || fallback?.name || app.name
  return address === null ? null : makeMailbox(name, address)
}

type SenderSettings = Pick<MailSettings, 'fromEmail' | 'otherFromEmails'>

export const listSenderEmails = (settings: SenderSettings, { from }: Installation): string[] => {
  const all = [settings.fromEmail, ...(settings.otherFromEmails ?? []), from?.address]
  return [...new Set(all.filter((email) => typeof email === 'string'))]
}

const isListed = (email: string, settings: SenderSettings, installation: Installation): boolean => {
  const asked = readEmail(email)?.email
  return asked !== undefined && listSenderEmails(settings, installation).includes(asked)
}

export async function findRemovedInUse(store: Store, app: AppRow, next: SenderSettings): Promise<string | null> {
  const before = await store.mailSettings(app.id)
  const [after, listed] = [next, before].map(({ fromEmail, otherFromEmails }) => [
    fromEmail,
    ...(otherFromEmails ?? []),
  ])
  const removed = (listed ?? []).filter((email) => email !== null && !after?.includes(email)) as string[]
  return (await findSendersInUse(store, app, removed))[0] ?? null
}

/** Why the app's address can't be removed; null if it can. `fallback`: the installation's sender. */
export async function findLeftWithoutSender(
  store: Store,
  app: AppRow,
  next: Pick<MailSettings, 'fromEmail'>,
  fallback: Mailbox | null,
): Promise<string | null> {
  const { fromEmail } = await store.mailSettings(app.id)
  if (fromEmail === null || next.fromEmail !== null || fallback !== null) return null
  const live = (await store.listMessages(app.id)).filter(
    ({ status, content: { mail } }) => status === 'live' && mail.fromEmail === undefined,
  )
  if (live.length === 0) return null
  const which = live.length === 1 ? `The live message "${live[0]?.name}" sends` : `${live.length} live messages send`
  return `${which} from ${fromEmail}. Enter another address, or pause ${live.length === 1 ? 'it' : 'them'} first.`
}

/** `basedOn`: what the change was made from, so that saving finds another change in between. */
type SenderChange = { add: string; isDefault: boolean } | { remove: string }

export async function changeSenders(
  store: Store,
  app: AppRow,
  change: SenderChange,
): Promise<{ settings: SenderSettings; basedOn: SenderSettings } | { wrong: string }> {
  const { fromEmail, otherFromEmails } = await store.mailSettings(app.id)
  const basedOn = { fromEmail, otherFromEmails }
  const listed = [fromEmail, ...(otherFromEmails ?? [])].filter((email) => email !== null)
  const fallback = (await readInstallation(store))?.from ?? null
  if ('remove' in change) {
    const { remove } = change
    if (!listed.includes(remove)) return { wrong: `${remove} was not added to this app, so it cannot be removed.` }
    const next = { fromEmail: fromEmail === remove ? null : fromEmail }
    const [inUse] = await findSendersInUse(store, app, [remove])
    const wrong = inUse ?? (await findLeftWithoutSender(store, app, next, fallback))
    return wrong ? { wrong } : { settings: settingsOf(listed, next.fromEmail, remove), basedOn }
  }
  // the only sender address sends without being asked for
  const isDefault = change.isDefault || (fromEmail === null && fallback === null)
  return { settings: settingsOf([...listed, change.add], isDefault ? change.add : fromEmail), basedOn }
}

const settingsOf = (listed: string[], fromEmail: string | null, removed?: string): SenderSettings => ({
  fromEmail,
  otherFromEmails: [...new Set(listed)].filter((email) => email !== fromEmail && email !== removed),
})

async function findSendersInUse(store: Store, app: AppRow, removed: readonly string[]): Promise<string[]> {
  const messages = await store.listMessages(app.id)
  return removed.flatMap((email) => {
    const user = messages.find(({ content: { mail } }) => readEmail(mail.fromEmail ?? '')?.email === email)
    return user ? `The message "${user.name}" uses ${email}. Choose another sender address there first.` : []
  })
}

/** "hello@" at the domain of the app's first host; '' if that is none that can have email. */
export function proposeSender({ hosts: [host = ''] }: Pick<AppRow, 'hosts'>): string {
  const domain = registeredDomain(host)
  return domain === null ? '' : `hello@${domain}`
}

export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase()

/** The domain and its parents up to the registered one: control of one proves control of it. */
export function listCovering(domain: string): string[] {
  const registered = registeredDomain(domain) ?? domain
  const labels = domain.split('.')
  const most = labels.length - registered.split('.').length
  return Array.from({ length: most + 1 }, (_, index) => labels.slice(index).join('.'))
}

export const senderRecord = (domain: string, accountId: string): DnsRecord => ({
  name: `_eventpost.${domain}`,
  type: 'TXT',
  value: `eventpost-account=${accountId}`,
})

const ASK_AGAIN_MS = 30_000
const MOST_ASKED = 10_000

type Given = {
  store: Store
  clock: Pick<Clock, 'now' | 'monotonicMs'>
  resolveTxt: ResolveTxt
  installation: Installation
}

export type { SenderProof }

export type Senders = ReturnType<typeof createSenders>

export function createSenders({ store, clock, resolveTxt, installation }: Given) {
  const asked = new Map<string, number>()

  const mayAsk = (accountId: string, domain: string): boolean => {
    const key = `${accountId} ${domain}`
    const [now, last] = [clock.monotonicMs(), asked.get(key)]
    if (last !== undefined && now - last < ASK_AGAIN_MS) return false
    asked.delete(key)
    asked.set(key, now)
    const [oldest] = asked.keys()
    if (asked.size > MOST_ASKED && oldest !== undefined) asked.delete(oldest)
    return true
  }

  /** Looks for the account's record, or the app's DKIM key, at the domain and its parents. */
  const findProof = async ({ accountId }: AppRow, settings: MailSettings, domain: string) => {
    const { signing, waiting } = readDkimKeys(settings)
    const keys = [publishedOf(signing), publishedOf(waiting)].filter((key) => key !== null)
    const lookUps = listCovering(domain).map(async (one): Promise<{ domain: string; proof: SenderProof } | null> => {
      const record = senderRecord(one, accountId)
      if ((await resolveTxt(record.name))?.some((text) => text.trim() === record.value))
        return { domain: one, proof: 'txt' }
      const isFound = async (key: PublishedDkim): Promise<boolean> =>
        key.domain === one && (await findPublished(resolveTxt, key)).includes(key.publicKey)
      return (await Promise.all(keys.map(isFound))).includes(true) ? { domain: one, proof: 'dkim' } : null
    })
    return (await Promise.all(lookUps)).find((found) => found !== null) ?? null
  }

  const verify = async (app: AppRow, settings: MailSettings, domain: string): Promise<boolean> => {
    const found = await findProof(app, settings, domain)
    if (found === null) return false
    const { accountId } = app
    const outcome = await store.bindSenderDomain({ ...found, accountId, actor: 'eventpost', at: clock.now() })
    return !('refusal' in outcome)
  }

  const isShared = async ({ smtpUrl }: Pick<MailSettings, 'smtpUrl'>, accountId: string) => {
    if (smtpUrl !== null || !installation.hasServer) return null
    const { isOnlyAccount, domains } = await store.senderFacts(accountId)
    return isOnlyAccount ? null : domains
  }

  const findUnverified = async (
    app: AppRow,
    settings: MailSettings,
    { email, asksDns }: { email: string; asksDns: boolean },
  ): Promise<SenderProblem | null> => {
    if (email === installation.from?.address) return null
    const verified = await isShared(settings, app.accountId)
    if (verified === null) return null
    const domain = domainOf(email)
    if (listCovering(domain).some((one) => verified.includes(one))) return null
    if (asksDns && mayAsk(app.accountId, domain) && (await verify(app, settings, domain))) return null
    return unverified(domain, app.accountId)
  }

  return {
    installation,

    async findUnlisted(app: AppRow, { fromEmail }: Pick<Mail, 'fromEmail'>): Promise<FieldError[]> {
      if (fromEmail === undefined) return []
      const settings = await store.mailSettings(app.id)
      const problem = isListed(fromEmail, settings, installation) ? null : notListed(settings, installation)
      return problem ? [{ field: 'mail.fromEmail', code: problem.code, message: problem.message }] : []
    },

    /** null when the app may send the message. `asksDns`: looks up unverified domains. */
    async findProblem(
      { app, mail, settings }: { app: AppRow; mail: Pick<Mail, 'fromEmail' | 'fromName'>; settings: MailSettings },
      { asksDns = true } = {},
    ): Promise<SenderProblem | null> {
      const from = findFrom({ mail, settings, fallback: installation.from, app })
      if (from === null) return NO_SENDER
      if (!isListed(from.address, settings, installation)) return notListed(settings, installation)
      return findUnverified(app, settings, { email: from.address, asksDns })
    },

    /**
     * Unverified domains in use, with the accounts that have verified them. Of several earlier users only the oldest
     * kept the domain.
     */
    async listUnverified(): Promise<UnverifiedDomain[]> {
      const [apps, known] = [await store.listSenders(), await store.listSenderDomains()]
      const found: UnverifiedDomain[] = []
      for (const { accountId, publicId: appId, emails, hasOwnServer } of apps) {
        const isNeeded = !hasOwnServer && installation.hasServer && !(await store.senderFacts(accountId)).isOnlyAccount
        const own = emails.filter((email) => email !== installation.from?.address).map(domainOf)
        for (const domain of isNeeded ? new Set(own) : []) {
          const holders = known.filter((one) => listCovering(domain).includes(one.domain))
          if (holders.some((one) => one.accountId === accountId)) continue
          found.push({ domain, accountId, appId, verifiedBy: holders.map((one) => one.accountId) })
        }
      }
      return found
    },

    /** Live messages that have no sender address, by app. */
    async listWithoutSender(): Promise<{ appId: string; messages: number }[]> {
      if (installation.from !== null) return []
      const [live, apps, settings] = await Promise.all([
        store.countLiveWithoutSender(),
        store.listAllApps(),
        store.listMailSettings(),
      ])
      return apps.flatMap(({ id, publicId: appId }) => {
        const messages = live.get(id) ?? 0
        return messages > 0 && !settings.get(id)?.fromEmail ? [{ appId, messages }] : []
      })
    },

    async listDomains(app: AppRow, settings: MailSettings, { asksDns = false } = {}): Promise<DomainStatus[]> {
      const emails = listSenderEmails(settings, installation).filter((email) => email !== installation.from?.address)
      const domains = [...new Set(emails.map(domainOf))]
      if (asksDns && (await isShared(settings, app.accountId)) !== null) {
        await Promise.all(domains.map((domain) => verify(app, settings, domain)))
      }
      const isNeeded = (await isShared(settings, app.accountId)) !== null
      const known = isNeeded
        ? (await store.listSenderDomains()).filter(({ accountId }) => accountId === app.accountId)
        : []
      return domains.map((domain) => {
        const covering = listCovering(domain)
        const proof = known.find((one) => covering.includes(one.domain))?.proof ?? null
        if (!isNeeded) return { domain, state: 'not_needed', proof, record: null }
        const record = proof === null ? senderRecord(domain, app.accountId) : null
        return { domain, state: proof === null ? 'unverified' : 'verified', proof, record }
      })
    },
  }
}

/** The running server stores how it sends, for commands, which don't have its settings. */
const INSTALLATION = 'mail_installation'

export async function keepInstallation(store: Store, { from, hasServer }: Installation): Promise<void> {
  const value = JSON.stringify({ from, hasServer } satisfies Installation)
  if (value !== (await store.installValue(INSTALLATION))) await store.setInstallValue({ name: INSTALLATION, value })
}

export async function readInstallation(store: Store): Promise<Installation | null> {
  const value = await store.installValue(INSTALLATION)
  return value === null ? null : (JSON.parse(value) as Installation)
}

const NO_SENDER: SenderProblem = {
  code: 'no_sender',
  message: "There is no sender address. Add one on the app's Sender page, or set EVENTPOST_MAIL_FROM.",
  record: null,
}

function notListed(settings: SenderSettings, installation: Installation): SenderProblem {
  const known = listSenderEmails(settings, installation)
  const choices = known.length === 0 ? '' : ` Choose one of ${known.join(', ')}, or leave it out.`
  const message = `This is not one of the app's sender addresses.${choices} Owners can add addresses on the Sender page.`
  return { code: 'sender_not_listed', message, record: null }
}

function unverified(domain: string, accountId: string): SenderProblem {
  const record = senderRecord(domain, accountId)
  const message = `${domain} is not verified for this account. Add the ${record.type} record ${record.name} with the value ${record.value}, then try again.`
  return { code: 'sender_unverified', message, record }
}
