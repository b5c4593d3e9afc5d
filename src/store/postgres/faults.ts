import { StoreError } from '../engine/errors.ts'
import { NoAnswer } from './connection.ts'

/**
 * Also keys that another instance used first, such as the next number of an app.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '23505'])
/** The server stops or starts, or has no room: full disk, no memory, too many connections, a call that took too long. */
const PASSING = /^(57P0[1-5]|57014|08\w{3}|53\w{3}|25006|25P03)$/
const CONNECTION_CODES = /^ERR_POSTGRES_(CONNECTION|CONNECTION_\w+|IDLE_TIMEOUT|LIFETIME_TIMEOUT)$/

/** Drizzle wraps what the server said. */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? causeOf(error.cause) : error

const valueOf = (error: unknown, name: 'errno' | 'code'): string => {
  const cause = causeOf(error)
  return cause instanceof Error && name in cause ? String((cause as Error & Record<string, unknown>)[name]) : ''
}

const stateOf = (error: unknown): string => valueOf(error, 'errno')
const codeOf = (error: unknown): string => valueOf(error, 'code')

/** The clock jumped past the ids that this instance had reserved. */
export class IdsUsedUp extends Error {
  override name = 'IdsUsedUp'
}

/** Another transaction was in the way: the same again can succeed. */
export const isConflict = (error: unknown): boolean => CONFLICTS.has(stateOf(error)) || error instanceof IdsUsedUp

const isNotAdmitted = (error: unknown): boolean => error instanceof StoreError && error.code === 'too_many_instances'

/** The connection is gone. At a commit, whether anything was stored is unknown. */
const isLostConnection = (error: unknown): boolean =>
  causeOf(error) instanceof NoAnswer ||
  CONNECTION_CODES.test(codeOf(error)) ||
  /^(08\w{3}|57P0[1-5])$/.test(stateOf(error))

/** A key that is still in use after all tries is one that the write itself must not use. */
const isPassingConflict = (error: unknown): boolean => isConflict(error) && stateOf(error) !== '23505'

/** Passes without a change of ours. */
export const isPassingFault = (error: unknown): boolean =>
  isLostConnection(error) || isPassingConflict(error) || isNotAdmitted(error) || PASSING.test(stateOf(error))
