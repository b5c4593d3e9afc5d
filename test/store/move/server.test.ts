import { expect, test } from 'bun:test'
import { findServerFault, type ServerFacts } from '../../../src/store/postgres/server-facts.ts'

const FACTS: ServerFacts = {
  version: 17,
  encoding: 'UTF8',
  provider: 'c',
  collation: 'C',
  schema: 'public',
  mayCreate: true,
}

test.each([
  [{}, null],
  [{ collation: 'C.UTF-8' }, null],
  [{ collation: 'C.utf8', provider: 'b' }, null],
  [{ version: 14 }, 'it has PostgreSQL 14, and Eventpost needs version 15 or newer'],
  [{ encoding: 'SQL_ASCII' }, 'its encoding is SQL_ASCII'],
  [{ collation: 'en_US.UTF-8' }, 'the rules of en_US.UTF-8'],
  [{ provider: 'i' }, 'sorts text by'],
  [{ mayCreate: false }, "isn't allowed to create tables"],
  [{ schema: null }, "isn't allowed to create tables"],
])('%p: %p', (changes, fault) => {
  const found = findServerFault({ ...FACTS, ...changes })
  if (fault === null) expect(found).toBeNull()
  else expect(found).toContain(fault)
})
