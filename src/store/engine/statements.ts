import { type Placeholder, type SQL, sql } from 'drizzle-orm'

const CALLS = ['get', 'all', 'run', 'values'] as const
type Call = (typeof CALLS)[number]
type Run = (...values: never[]) => unknown

/**
 * Prepares a statement when it first runs, then keeps it. There are several hundred, and most processes run a few
 * (measured: a command takes half as long).
 */
export function prepareLazily<T extends Record<Call, Run>>(prepare: () => T): Pick<T, Call> {
  const lazy = {} as Record<Call, Run>
  const open = (): Record<Call, Run> => {
    const statement = prepare()
    for (const name of CALLS) lazy[name] = statement[name].bind(statement) as Run
    return lazy
  }
  for (const name of CALLS) lazy[name] = (...values) => open()[name](...values)
  return lazy as Pick<T, Call>
}

/** A part of the dialect for Drizzle, with a value instead of the text `?`. */
export function withValue(part: (value: string) => string, value: Placeholder | string): SQL {
  const [before = '', after = ''] = part('?').split('?')
  return sql`${sql.raw(before)}${value}${sql.raw(after)}`
}
