import { NoAnswer } from './connection.ts'

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])
/** The server stops or starts, or has no room: full disk, no memory, too many connections, a call that took too long. */
const PASSING = /^(57P0[1-5]|57014|08\w{3}|53\w{3}|25006|25P03)$/
const CONNECTION_CODES = /^ERR_POSTGRES_(CONNECTION|CONNECTION_\w+|IDLE_TIMEOUT|LIFETIME_TIMEOUT)$/

const stateOf = (error: unknown): string => (error instanceof Error && 'errno' in error ? String(error.errno) : '')

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** Another transaction was in the way: the same again can succeed. */
export const isConflict = (error: unknown): boolean => CONFLICTS.has(stateOf(error))

/** The connection is gone. At a commit, whether anything was stored is unknown. */
const isLostConnection = (error: unknown): boolean =>
  error instanceof NoAnswer || CONNECTION_CODES.test(codeOf(error)) || /^(08\w{3}|57P0[1-5])$/.test(stateOf(error))

/** Passes without a change of ours. */
export const isPassingFault = (error: unknown): boolean =>
  isLostConnection(error) || isConflict(error) || PASSING.test(stateOf(error))
