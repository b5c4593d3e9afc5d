import { afterEach, expect, test } from 'bun:test'
import { atServer } from '../../../src/store/move/server.ts'
import { describeFault } from '../../../src/store/postgres/faults.ts'
import { describeDenied, findServerFault, type ServerFacts } from '../../../src/store/postgres/server-facts.ts'

const FACTS: ServerFacts = {
  version: 17,
  encoding: 'UTF8',
  provider: 'c',
  collation: 'C',
  icuLocale: null,
  schema: 'public',
  mayCreate: true,
}

const LOCATION = { url: 'postgres://ada@db.example.com/eventpost', connections: 1, prepares: true }

test.each([
  [{}, null],
  [{ collation: 'C.UTF-8' }, null],
  [{ collation: 'C.utf8', provider: 'b' }, null],
  [{ version: 14 }, 'it runs PostgreSQL 14, but Eventpost needs version 15 or newer'],
  [{ encoding: 'SQL_ASCII' }, 'its encoding is SQL_ASCII'],
  [{ collation: 'en_US.UTF-8' }, 'the rules of en_US.UTF-8'],
  [{ provider: 'i', icuLocale: 'en-US' }, 'the rules of the ICU locale en-US.'],
  [{ mayCreate: false }, "the user ada isn't allowed to create tables"],
  [{ schema: null }, "isn't allowed to create tables"],
])('%p: %p', (changes, fault) => {
  const found = findServerFault({ ...FACTS, ...changes }, LOCATION)
  if (fault === null) expect(found).toBeNull()
  else expect(found).toContain(fault)
})

test.each([
  ['permission denied for table install', 'ALTER TABLE ... OWNER TO "ada"'],
  ['must be owner of table install', 'Connect as the owner of the tables'],
  ['permission denied for schema public', 'ALTER DATABASE "eventpost" OWNER TO "ada"'],
])('%s: %s', (message, remedy) => expect(describeDenied(message, LOCATION)).toContain(remedy))

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames"],
])('a certificate that is not accepted: %s', async (code, message) => {
  const error = Object.assign(new Error(message), { code })
  const remedy = `(${message}). Use the host name in the certificate. If your own CA issued it, add sslrootcert=FILE to the URL.`
  expect(describeFault(error)).toEndWith(remedy)
  await expect(atServer(LOCATION, () => Promise.reject(error))).rejects.toThrow(remedy)
})

const ENVIRONMENT = { ...process.env }
afterEach(() => void Object.assign(process.env, ENVIRONMENT))

test.each([
  ['postgres://ada@db.example.com/eventpost', {}, 'the password for user ada is wrong.'],
  [
    'postgres://db.example.com/eventpost',
    { PGUSER: 'grace' },
    'the password for user grace is wrong. The address has no user, so Eventpost uses grace (from the environment variable PGUSER). Add the right one: postgres://USER@HOST/DATABASE.',
  ],
  [
    'postgres://db.example.com/eventpost',
    { PGUSERNAME: '', PGUSER: '', USER: '', USERNAME: '' },
    "the password for user postgres is wrong. The address has no user, so Eventpost uses postgres (PostgreSQL's default). Add the right one: postgres://USER@HOST/DATABASE.",
  ],
])('a wrong password at %s, with %p', async (url, variables, reason) => {
  Object.assign(process.env, variables)
  const error = Object.assign(new Error('password authentication failed'), { errno: '28P01' })
  await expect(atServer({ ...LOCATION, url }, () => Promise.reject(error))).rejects.toThrow(
    `postgres://db.example.com/eventpost: ${reason}`,
  )
})
