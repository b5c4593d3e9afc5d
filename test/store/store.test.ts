import { rmSync } from 'node:fs'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { readEventText } from '../../src/events/event-input.ts'
import { openStore } from '../../src/store/store.ts'
import { describeStore } from './conformance.ts'
import { makeDataFolder } from '../data-folder.ts'
import type { Opened } from './samples.ts'

for (const threads of [false, true]) {
  describeStore(threads ? 'SQLite in a thread of its own' : 'SQLite in line', async (): Promise<Opened> => {
    const folder = await makeDataFolder()
    let store = await openStore(folder, { threads, readEvent: readEventText, rules: STORE_RULES })
    const reopen = async () => {
      await store.close()
      store = await openStore(folder, { threads, readEvent: readEventText, rules: STORE_RULES })
      return store
    }
    return { store, reopen, drop: async () => rmSync(folder, { recursive: true }) }
  })
}
