import { openStore } from '../../src/store/store.ts'
import { describeStore } from './conformance.ts'
import { makeFolder, type Opened } from './samples.ts'

for (const threads of [false, true]) {
  describeStore(threads ? 'SQLite in a thread of its own' : 'SQLite in line', async (): Promise<Opened> => {
    const { folder, remove } = makeFolder()
    let store = await openStore(folder, { threads })
    const reopen = async () => {
      await store.close()
      store = await openStore(folder, { threads })
      return store
    }
    return { store, reopen, drop: async () => remove() }
  })
}
