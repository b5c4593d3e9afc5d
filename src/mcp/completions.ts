import type { Caller } from './caller.ts'

/** So many are suggested at once (the protocol's own bound). */
const MOST_VALUES = 100

/** Completes the ID of an app, the one thing that prompts and resources ask for and that can be listed. */
export function completeApp({ access }: Caller, { name, value }: { name: string; value: string }) {
  const found = name === 'app' ? access.apps.filter(({ publicId }) => publicId.startsWith(value)) : []
  const values = found.slice(0, MOST_VALUES).map(({ publicId }) => publicId)
  return { values, total: found.length, hasMore: found.length > values.length }
}
