import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { readEventText } from '../../src/events/event-input.ts'
import { openStore } from '../../src/store/store.ts'
import { describeStore } from './conformance.ts'
import { makeDataFolder } from '../data-folder.ts'
import { contactWrite, done, type Opened } from './samples.ts'
import { isLong } from '../long-form.ts'

/** What the thread changes most: results, errors, and many requests at a time. */
const IN_THREAD = [
  'events of people',
  'batches',
  'batches of browsers',
  'idempotency keys',
  'accounts and what they own',
  'deliveries and their claims',
]

for (const threads of [false, true]) {
  describeStore(
    threads ? 'SQLite in a thread of its own' : 'SQLite in line',
    async (): Promise<Opened> => {
      const folder = await makeDataFolder()
      let store = await openStore(folder, { threads, readEvent: readEventText, rules: STORE_RULES })
      const reopen = async () => {
        await store.close()
        store = await openStore(folder, { threads, readEvent: readEventText, rules: STORE_RULES })
        return store
      }
      return { store, reopen, drop: async () => rmSync(folder, { recursive: true }) }
    },
    threads && !isLong ? IN_THREAD : undefined,
  )
}

test('SQLite returns NUL unchanged', async () => {
  const folder = await makeDataFolder()
  const store = await openStore(folder, { threads: false, readEvent: readEventText, rules: STORE_RULES })
  const [email, text] = ['nul@example.com', 'a\0b']
  done(await store.addContact(contactWrite({ email, firstName: text, fields: { [text]: text } })))
  expect(await store.findContact(1, email)).toMatchObject({ firstName: text, fields: { [text]: text } })
  await store.close()
  rmSync(folder, { recursive: true })
})
