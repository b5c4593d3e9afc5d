/** Records sign-ins in the log and the audit log, and notifies the member by email. */
import { createHmac } from 'node:crypto'
import { describeError } from '../core/error-text.ts'
import type { FailedSignIns } from '../store/sessions.ts'
import type { Store } from '../store/store.ts'
import { addressBucket } from '../core/addresses.ts'
import { makeMailbox } from '../core/mail-addresses.ts'
import { type NoticeKind, type NoticeMailer, writeNotice } from './notices.ts'
import { type Clock, DAY_MS, MINUTE_MS } from '../core/clock.ts'
import type { MemberRow, Proof } from './sessions.ts'

/** Never contains an email, token or plain address. */
export type NoteSecurity = (
  level: 'info' | 'warn',
  message: string,
  fields: Record<string, string | number | boolean | null>,
) => void

/** `delayed`: not compared because of earlier failures. */
export type Failure = 'wrong_password' | 'wrong_code' | 'wrong_recovery_code' | 'delayed'

const ADDRESS_CHARACTERS = 16
const SEVERAL = 'several'
/** Per member and save, so that guessing can't fill the disk. */
const MOST_ENTRIES = 20
const ENTRIES_EVERY_MS = 10 * MINUTE_MS

/** Per day. A wrong code means that someone has the password. */
export const MANY_FAILURES = { wrong_password: 20, wrong_code: 5 } as const
const FAILURES_MS = DAY_MS

/** A rare notice is sent at most once in this time. */
const RARE_NOTICE_EVERY_MS = DAY_MS

type Gathered = { entries: Map<string, FailedSignIns>; nextAt: number }
type Counted = { count: number; addresses: Set<string>; since: number }

export type SignInNotes = ReturnType<typeof createSignInNotes>

type Dependencies = {
  store: Store
  clock: Clock
  addressKey: string
  baseUrl: string
  mailer: NoticeMailer
  noteSecurity: NoteSecurity
}

export function createSignInNotes({ store, clock, addressKey, baseUrl, mailer, noteSecurity }: Dependencies) {
  const gathered = new Map<string, Gathered>()
  const counted = new Map<string, Counted>()
  let isSaving = false

  /** An IPv6 address counts by its /64. */
  const hashAddress = (address: string): string =>
    createHmac('sha256', addressKey)
      .update(`sign-in address:${addressBucket(address)}`)
      .digest('hex')
      .slice(0, ADDRESS_CHARACTERS)

  const gather = (memberId: string, failure: Failure, address: string): void => {
    const own = gathered.get(memberId) ?? { entries: new Map<string, FailedSignIns>(), nextAt: 0 }
    gathered.set(memberId, own)
    const isNew = !own.entries.has(`${failure} ${address}`)
    const shown = isNew && own.entries.size >= MOST_ENTRIES ? SEVERAL : address
    const entry = own.entries.get(`${failure} ${shown}`)
    if (entry) entry.count += 1
    else {
      const action = `sign_in.${failure}`
      own.entries.set(`${failure} ${shown}`, { memberId, action, address: shown, count: 1, at: clock.now() })
    }
  }

  /** The member's apps, used when the installation has no mail server. */
  const listSettings = async (memberId: string) => {
    const memberships = await store.listAppAccess(memberId)
    const accounts = [...new Set(memberships.map(({ accountId }) => accountId))]
    const apps = (await Promise.all(accounts.map(store.listApps))).flat()
    return Promise.all(apps.map(({ id }) => store.mailSettings(id)))
  }

  const notify = async (
    { id, email }: Pick<MemberRow, 'id' | 'email'>,
    kind: NoticeKind,
    { isRare = false, ...facts }: { count?: number; addresses?: number; isRare?: boolean } = {},
  ): Promise<void> => {
    const to = makeMailbox('', email)
    const send = mailer.findNoticeSender(await listSettings(id))
    if (!to || !send) return
    const at = clock.now()
    const notice = { memberId: id, action: `notice.${kind}`, since: at - RARE_NOTICE_EVERY_MS, at }
    const claimed = isRare && (await store.claimNotice(notice))
    if (claimed && 'refusal' in claimed) return
    const outcome = await send(writeNotice(kind, { email, baseUrl, at: clock.now(), ...facts }), to)
    const reason = 'reason' in outcome ? outcome.reason : null
    noteSecurity(outcome.is === 'sent' ? 'info' : 'warn', 'security notice', {
      kind,
      memberId: id,
      outcome: outcome.is,
      reason,
    })
  }

  const notifyIfMany = (member: MemberRow, failure: 'wrong_password' | 'wrong_code', address: string): void => {
    const key = `${failure}:${member.id}`
    const known = counted.get(key)
    const isRecent = known !== undefined && clock.monotonicMs() - known.since < FAILURES_MS
    const own = isRecent ? known : { count: 0, addresses: new Set<string>(), since: clock.monotonicMs() }
    own.count += 1
    if (own.addresses.size < MANY_FAILURES[failure]) own.addresses.add(address)
    counted.set(key, own)
    if (own.count < MANY_FAILURES[failure]) return
    counted.delete(key)
    const kind = failure === 'wrong_password' ? 'wrong_passwords' : 'wrong_codes'
    notifySoon(member, kind, { count: own.count, addresses: own.addresses.size, isRare: true })
  }

  const notifySoon = (...given: Parameters<typeof notify>): void =>
    void notify(...given).catch((error: unknown) => {
      noteSecurity('warn', 'security notice', {
        kind: given[1],
        memberId: given[0].id,
        outcome: 'failed',
        reason: describeError(error),
      })
    })

  /** At most every ten minutes per member; `all`: now. */
  const save = async ({ all = false }: { all?: boolean } = {}): Promise<void> => {
    if (isSaving) return
    const now = clock.monotonicMs()
    const due = [...gathered].filter(([, { entries, nextAt }]) => entries.size > 0 && (all || now >= nextAt))
    for (const [memberId, { entries, nextAt }] of gathered) {
      if (entries.size === 0 && now >= nextAt) gathered.delete(memberId)
    }
    if (due.length === 0) return
    isSaving = true
    const taken = due.map(([, own]) => ({ own, entries: own.entries }))
    for (const { own } of taken) Object.assign(own, { entries: new Map(), nextAt: now + ENTRIES_EVERY_MS })
    const outcome = await store.noteFailedSignIns(taken.flatMap(({ entries }) => [...entries.values()]))
    isSaving = false
    if ('refusal' in outcome) for (const { own, entries } of taken) Object.assign(own, { entries, nextAt: 0 })
  }

  return {
    hashAddress,
    save,
    notify: notifySoon,
    noteSignIn({ member, isSecondStepDone, isByRecoveryCode }: Proof, address: string): void {
      const by = isByRecoveryCode ? 'recovery_code' : isSecondStepDone ? 'code' : 'password'
      noteSecurity('info', 'sign-in', { outcome: 'done', by, memberId: member.id, address: hashAddress(address) })
      if (isByRecoveryCode) notifySoon(member, 'recovery_code_used')
    },
    noteFailure(member: MemberRow | null, failure: Failure, address: string): void {
      const hash = hashAddress(address)
      noteSecurity('warn', 'sign-in', { outcome: failure, memberId: member?.id ?? null, address: hash })
      if (!member) return
      gather(member.id, failure, hash)
      if (failure === 'wrong_password' || failure === 'wrong_code') notifyIfMany(member, failure, hash)
    },
  }
}
