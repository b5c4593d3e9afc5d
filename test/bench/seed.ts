/**
 * `bun run seed [FOLDER]`: a data folder with a million people, ten million events of ninety days, one of the apps owning
 * 20 of them, and a million deliveries of 200 messages in an app of their own. Written straight into the store's schema,
 * because by the API it would take an hour. SEED_EVENTS, SEED_PEOPLE and SEED_DELIVERIES make a smaller one.
 */
import { existsSync, rmSync } from 'node:fs'
import { createAccount, createApp } from '../../src/accounts/accounts.ts'
import { hashPassword } from '../../src/accounts/passwords.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import { NEARLY, RARE_MESSAGE, SEEDED, type Seeded, seededFile } from './seeded.ts'
import {
  fillTimeline,
  seedDeliveries,
  seedEvents,
  seedLogs,
  seedNearlyEveryone,
  seedPeople,
  seedPeopleResults,
} from './seed-rows.ts'

const PASSWORD = 'correct horse battery'
const EMAIL = 'owner@example.com'
const DAYS = 90
const SMALL_PEOPLE = 5
const MESSAGES = 200

const count = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise)
const [people, events] = [count('SEED_PEOPLE', 1_000_000), count('SEED_EVENTS', 10_000_000)]
const deliveries = count('SEED_DELIVERIES', 1_000_000)

/** The last one has few deliveries. They are drafts, so that nothing is sent of what waits. */
const NAMES = [...Array.from({ length: MESSAGES }, (_, index) => `Message ${index}`), RARE_MESSAGE]

const listDrafts = (names: string[]) =>
  names.map((name, index) => ({
    id: null,
    name,
    content: { trigger: { event: `seeded.${index}` }, mail: { subject: 'S', body: 'B' } },
    status: null,
  }))

/** The account with its apps, by the same code as anywhere. */
async function begin(folder: string): Promise<Seeded> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const maker = { store, now: Date.now() - DAYS * 86_400_000, actor: 'seed' }
  const app = { name: 'Small', domains: ['small.example.com'], home: null }
  const owner = { email: EMAIL, passwordHash: await hashPassword(PASSWORD) }
  const large = { appName: 'Large', domains: ['app.example.com'], home: null }
  const begun = await createAccount(maker, { ...owner, ...large }, { onlyFirst: true, setupToken: null })
  if ('refusal' in begun) throw new Error(begun.refusal)
  const small = await createApp(maker, begun.accountId, app)
  if ('refusal' in small) throw new Error(small.refusal)
  const mailing = await createApp(maker, begun.accountId, { ...app, name: 'Mailing', domains: ['mail.example.com'] })
  if ('refusal' in mailing) throw new Error(mailing.refusal)
  for (const [publicId, names] of [
    [mailing.appId, NAMES],
    [begun.appId, Object.keys(NEARLY)],
  ] as const) {
    const appId = (await store.findAppByPublicId(publicId))?.id ?? 0
    const by = { accountId: begun.accountId, appId, actor: maker.actor, at: maker.now }
    await store.saveMessages({ ...by, drafts: listDrafts(names) })
  }
  await store.close()
  const apps = { large: begun.appId, small: small.appId, mailing: mailing.appId }
  return { ...apps, apiKey: begun.apiKey, email: EMAIL, password: PASSWORD }
}

const folder = process.argv[2] ?? SEEDED
if (existsSync(folder)) rmSync(folder, { recursive: true })
const seeded = await begin(folder)
const db = openDatabase(folder)
// what is cut off here is begun again
for (const pragma of ['synchronous = OFF', 'secure_delete = OFF', 'cache_size = -1000000']) db.run(`PRAGMA ${pragma}`)
const [large, small, mailing] = db
  .query<{ id: number; account: string }, []>('SELECT id, account_id AS account FROM apps ORDER BY id')
  .all()
if (!large || !small || !mailing) throw new Error('the apps are missing')
const startedAt = performance.now()
const say = (what: string): void => console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${what}`)
const until = Date.now()
const span = { from: until - DAYS * 86_400_000, until }
const contacts = seedPeople(db, { span, people, large: large.id, small: small.id, smallPeople: SMALL_PEOPLE })
const first = db.query<{ id: number }, [number]>('SELECT min(id) AS id FROM messages WHERE app_id = ?').get(large.id)
seedPeopleResults(db, { span, app: large.id, message: first?.id ?? 0 })
say(`${people.toLocaleString('en')} people`)
seedEvents(db, { span, events, large: large.id, small: small.id, contacts })
fillTimeline(db)
say(`${events.toLocaleString('en')} events`)
const idsOf = (isRare: boolean): number[] =>
  db
    .query<{ id: number }, [number, string, number]>(
      'SELECT id FROM messages WHERE app_id = ? AND (name = ?) = ? ORDER BY id',
    )
    .all(mailing.id, RARE_MESSAGE, Number(isRare))
    .map(({ id }) => id)
const [messages, [rare = 0]] = [idsOf(false), idsOf(true)]
seedNearlyEveryone(db, { span, app: large.id })
seedLogs(db, { span, app: large.id, account: large.account })
seedDeliveries(db, { span, deliveries, app: mailing.id, large: large.id, messages, rare })
say(`${deliveries.toLocaleString('en')} deliveries`)
db.run('PRAGMA wal_checkpoint(TRUNCATE)')
db.close()
await Bun.write(seededFile(folder), `${JSON.stringify(seeded, null, 2)}\n`)
say(`in ${folder}; serve it with --data, and sign in as ${EMAIL} with the password "${PASSWORD}"`)
