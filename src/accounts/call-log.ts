import { createSharedTurns } from '../core/in-order.ts'
import type { CallRow } from '../store/mcp-calls.ts'
import type { Store } from '../store/store.ts'

export type { CallRow }

const ROWS_PER_WRITE = 1_000
/** 2 MB. The oldest are dropped when nothing can be saved. */
const MAX_UNSAVED = 10_000

/** The audit list of MCP calls: key, tool, outcome, duration and client, but no values. */
export type CallLog = {
  add(call: CallRow): void
  save(): Promise<void>
}

/** Collects calls, so that reads cause no commits of their own. */
export function createCallLog({ store }: { store: Store }): CallLog {
  let gathered: CallRow[] = []

  const save = createSharedTurns(async () => {
    if (gathered.length === 0) return
    const written = gathered
    gathered = []
    const outcome = await store.addCalls(written)
    if ('refusal' in outcome) gathered = [...written, ...gathered].slice(-MAX_UNSAVED)
  })
  return {
    add(call) {
      gathered.push(call)
      if (gathered.length % ROWS_PER_WRITE === 0) void save()
    },
    save,
  }
}
