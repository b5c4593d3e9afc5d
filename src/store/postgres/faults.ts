import { messageOf, withoutQuery } from '../../core/error-text.ts'
import { StoreError, Unavailable } from '../engine/errors.ts'

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html */

/** The server did not answer in time: whether it did what was asked is unknown. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/** The commit's answer was lost, so whether anything is stored is unknown. */
export class UnknownCommit extends Error {
  override name = 'UnknownCommit'
}

/** The clock jumped past the ids that this instance had reserved. */
export class IdsUsedUp extends Error {
  override name = 'IdsUsedUp'
}

/** What this instance took for stored is no longer there: the next try looks. */
export class Outdated extends Error {
  override name = 'Outdated'
}

/** A row that was missing when it was looked for, as with 23505. */
const UNIQUE = '23505'
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', UNIQUE])
/** The server ended the connection, or has none. */
const LOST = /^(08\w{3}|57P0[1-5]|25P0[34])$/
/** The server ended a connection whose transaction stood still: nothing of it is stored. */
const STOOD_STILL = '25P03'
/** A replica, or a server that was the primary before. */
const READ_ONLY = '25006'
const NO_CONNECTION = '53300'
/** Raised by the triggers on data that was moved elsewhere: this instance stood still meanwhile. */
export const MOVED = 'MV001'
/** No room: full disk, no memory, too many connections, a call that took too long. */
const PASSING = /^(57014|53\w{3}|25006)$/
/** Node's and OpenSSL's codes. */
const UNTRUSTED = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_)/
const CONNECTION_CODES = /^ERR_POSTGRES_(CONNECTION|CONNECTION_\w+|IDLE_TIMEOUT|LIFETIME_TIMEOUT)$/

/** Drizzle wraps what the client throws, and reads name what is unavailable. */
const sourceOf = (error: unknown): unknown =>
  error instanceof Error && !('code' in error) && error.cause instanceof Error && !(error instanceof UnknownCommit)
    ? sourceOf(error.cause)
    : error

function read(error: unknown, name: 'errno' | 'code'): string {
  const source = sourceOf(error)
  return source instanceof Error && name in source ? String((source as unknown as Record<string, unknown>)[name]) : ''
}

const stateOf = (error: unknown): string => read(error, 'errno')
const codeOf = (error: unknown): string => read(error, 'code')

/** Another transaction was in the way: the same again can succeed. */
export const isConflict = (error: unknown): boolean =>
  CONFLICTS.has(stateOf(error)) || [IdsUsedUp, Outdated].some((one) => sourceOf(error) instanceof one)

function isNotAdmitted(error: unknown): boolean {
  const source = withoutQuery(error)
  return source instanceof StoreError && ['too_many_instances', 'newer_schema'].includes(source.code)
}

/** Nothing can be stored here any more. */
export const isMoved = (error: unknown): boolean => stateOf(error) === MOVED

/** A statement before, in the same transaction, has failed. */
export const isAborted = (error: unknown): boolean => stateOf(error) === '25P02'

/** A key that another instance has used at the same moment. */
const isDuplicate = (error: unknown): boolean => stateOf(error) === UNIQUE

export const isUnanswered = (error: unknown): boolean => sourceOf(error) instanceof NoAnswer

/** Not because of the server or the way to it. */
export const isEndedAlone = (error: unknown): boolean => stateOf(error) === STOOD_STILL

/** At a commit, whether anything was stored is unknown, unless the connection ended alone. */
export const isLostConnection = (error: unknown): boolean =>
  isUnanswered(error) || CONNECTION_CODES.test(codeOf(error)) || LOST.test(stateOf(error))

/** How often a transaction that ended before its commit is tried. */
export function mostTries(error: unknown): number {
  // may be there for good
  if (isDuplicate(error)) return 3
  if (isConflict(error)) return 6
  if (isEndedAlone(error)) return 3
  // the server may have closed a connection that was idle
  return isLostConnection(error) && !isUnanswered(error) ? 2 : 1
}

/** Passes without a change of ours. */
export const isPassingFault = (error: unknown): boolean =>
  sourceOf(error) instanceof Unavailable ||
  isLostConnection(error) ||
  (isConflict(error) && !isDuplicate(error)) ||
  isNotAdmitted(error) ||
  isMoved(error) ||
  PASSING.test(stateOf(error))

/** Whether the next transaction needs another connection: it may lead to another server. */
export const isBroken = (error: unknown): boolean =>
  isLostConnection(error) || error instanceof UnknownCommit || stateOf(error) === READ_ONLY

/** With what helps, where PostgreSQL doesn't say it. */
export function describeFault(error: unknown): string {
  const reason = messageOf(sourceOf(error))
  const state = stateOf(error)
  if (state === READ_ONLY) return `PostgreSQL is read-only (${reason}). It may be a replica: connect to the primary.`
  if (state === NO_CONNECTION)
    return `PostgreSQL has no connections left (${reason}). Raise max_connections, or lower EVENTPOST_DATABASE_CONNECTIONS.`
  if (reason.includes('unsupported startup parameter'))
    return `This is a pooler (${reason}). Set EVENTPOST_DATABASE_POOLER=transaction.`
  if (CONNECTION_CODES.test(codeOf(error))) return `PostgreSQL can't be reached: ${reason}`
  return describeUntrusted(error) ?? reason
}

/** @returns null for another error */
export const describeUntrusted = (error: unknown): string | null =>
  UNTRUSTED.test(codeOf(error))
    ? `PostgreSQL's certificate isn't accepted (${messageOf(sourceOf(error))}). Use the host name in the certificate. If your own CA issued it, add sslrootcert=FILE to the URL.`
    : null

/** A table or type that another connection makes at the same moment. */
export const isMadeByAnother = (error: unknown): boolean => ['23505', '42710', '42P07'].includes(stateOf(error))

/** The user may not do it, such as use a table of another owner. */
export const isDenied = (error: unknown): boolean => stateOf(error) === '42501'
