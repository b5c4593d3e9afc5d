import type { CallRow } from '../store/mcp-calls.ts'
import type { Store } from '../store/store.ts'

export type { CallRow }

/** So many are written together. */
const ROWS_A_WRITE = 1_000
/** Kept while nothing can be saved, 2 MB of them; beyond it the oldest go. */
const MOST_UNSAVED = 10_000

/** The audit list of MCP: key, tool, outcome, milliseconds and the client's name of every call, and no value. */
export type CallLog = {
  add(call: CallRow): void
  /** Writes what was added since the last time; called every second, and sooner where many come. */
  save(): Promise<void>
}

/** Gathers calls, so that reading causes no commit of its own. */
export function createCallLog({ store }: { store: Store }): CallLog {
  let gathered: CallRow[] = []
  let isSaving = false

  const save = async (): Promise<void> => {
    if (isSaving || gathered.length === 0) return
    isSaving = true
    const written = gathered
    gathered = []
    const outcome = await store.addCalls(written)
    isSaving = false
    if ('refusal' in outcome) gathered = [...written, ...gathered].slice(-MOST_UNSAVED)
  }
  return {
    add(call) {
      gathered.push(call)
      if (gathered.length % ROWS_A_WRITE === 0) void save()
    },
    save,
  }
}
