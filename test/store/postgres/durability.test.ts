/** What is stored survives a crash, whatever the server's settings are by default. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { changeMasterKeyIn } from '../../../src/store/postgres/offline.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { done, eventWrite, newAccount } from '../samples.ts'

let server: PostgresServer
let admin: Bun.SQL

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', full_page_writes: 'off' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1, prepare: false })
}, 240_000)
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})

const open = (prepares: boolean) =>
  openPostgresStore({ url: server.url('postgres'), connections: 1, prepares }, { rules: STORE_RULES })
const setDefault = (value: string) => admin.unsafe(`ALTER DATABASE postgres SET synchronous_commit = ${value}`)

test('a group of writes is committed synchronously where the default is less', async () => {
  const first = await open(true)
  done(await first.createAccount(newAccount()))
  await first.close()
  await admin.unsafe(`CREATE TABLE commits (value text);
    CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON contacts DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION note_commit()`)
  const found: Record<string, unknown> = {}
  for (const prepares of [true, false])
    for (const value of ['off', 'local', 'remote_write', 'remote_apply']) {
      await setDefault(value)
      const store = await open(prepares)
      done(await store.recordEvent(eventWrite({ email: `${value}-${prepares}@example.com` })))
      await store.close()
      found[`${value} ${prepares}`] = (await admin.unsafe('DELETE FROM commits RETURNING value'))[0]?.value
    }
  expect(found).toEqual({
    'off true': 'on',
    'local true': 'on',
    'remote_write true': 'remote_write',
    'remote_apply true': 'remote_apply',
    'off false': 'on',
    'local false': 'on',
    'remote_write false': 'remote_write',
    'remote_apply false': 'remote_apply',
  })
}, 120_000)

test('secrets are sealed, and get another key, synchronously', async () => {
  await admin.unsafe(`CREATE CONSTRAINT TRIGGER noted AFTER INSERT OR UPDATE ON install DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION note_commit()`)
  await setDefault('off')
  const location = { url: server.url('postgres'), connections: 1, prepares: true }
  const takeNoted = async () => [...(await admin.unsafe('DELETE FROM commits RETURNING value'))]
  const [key, next] = ['a'.repeat(64), 'b'.repeat(64)]
  await (await openPostgresStore(location, { rules: STORE_RULES, masterKey: key })).close()
  expect(await takeNoted()).toEqual([{ value: 'on' }])
  await changeMasterKeyIn(location, key, next)
  expect(await takeNoted()).toEqual([{ value: 'on' }])
  await changeMasterKeyIn(location, next, null)
}, 120_000)

test('settings by which a crash loses data are listed', async () => {
  await setDefault('local')
  const store = await open(true)
  expect(await store.listRisks()).toEqual([
    { setting: 'fsync', value: 'off' },
    { setting: 'full_page_writes', value: 'off' },
    { setting: 'synchronous_commit', value: 'local' },
  ])
  await store.close()
}, 120_000)
