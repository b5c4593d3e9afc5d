/**
 * `bun run bench:dates`: what live messages cost that are triggered by a date of a person or by inactivity, with a
 * million people: scheduling them once, and the steps of a day afterwards, in the process of the writer. Exits 1 if the
 * day of a date takes a second or more. DATES_PEOPLE sets another number of people.
 */
import type { Database } from 'bun:sqlite'
import { createAccount } from '../../src/accounts/accounts.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import type { Trigger } from '../../src/store/message-types.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { createFolder } from './service.ts'

const PEOPLE = Number(process.env.DATES_PEOPLE ?? 1_000_000)
const MOST_SECONDS = 1
/** As the server does it. */
const EVERY_MS = 5_000
const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS

const DATE: Trigger = { date: 'trialEndsAt', days: 3, when: 'before' }
const INACTIVE: Trigger = { inactiveDays: 14 }

/** Whose dates are spread over the year that begins, and who came during the year that ends. */
function addPeople(db: Database, appId: number, now: number): void {
  const add = db.prepare(
    "INSERT INTO contacts (id, app_id, email, status, fields, created_at, updated_at) VALUES (?, ?, ?, 'subscribed', ?, ?, ?)",
  )
  db.transaction(() => {
    for (let place = 1; place <= PEOPLE; place += 1) {
      const [endsAt, at] = [now + (YEAR_MS * place) / PEOPLE, Math.round(now - (YEAR_MS * (PEOPLE - place)) / PEOPLE)]
      const fields = JSON.stringify({ plan: 'free', trialEndsAt: new Date(endsAt).toISOString() })
      add.run(place, appId, `person${place}@example.com`, fields, at, at)
    }
  })()
}

/** Steps until nothing is left to do at once: how many, their seconds, and the longest in ms. */
async function runSteps(store: Store, times: Iterable<number>) {
  let [steps, seconds, longest] = [0, 0, 0]
  for (const at of times) {
    for (let hasMore = true; hasMore;) {
      const from = performance.now()
      const outcome = await store.runSchedules({ at })
      if ('refusal' in outcome) throw new Error(outcome.refusal)
      const ms = performance.now() - from
      ;[steps, seconds, longest, hasMore] = [steps + 1, seconds + ms / 1000, Math.max(longest, ms), outcome.hasMore]
    }
  }
  return { steps, seconds, longest }
}

function* dayFrom(from: number): Iterable<number> {
  for (let at = from; at < from + DAY_MS; at += EVERY_MS) yield at
}

async function begin(folder: string, now: number): Promise<{ accountId: string; appId: number }> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const app = { appName: 'Dates', domains: ['dates.example.com'], home: null }
  const owner = { email: 'owner@example.com', passwordHash: null }
  const begun = await createAccount(
    { store, now, actor: 'bench' },
    { ...owner, ...app },
    { onlyFirst: true, setupToken: null },
  )
  if ('refusal' in begun) throw new Error(begun.refusal)
  const appId = (await store.findAppByPublicId(begun.appId))?.id ?? 0
  await store.close()
  return { accountId: begun.accountId, appId }
}

const now = Date.now()
const { path: folder, remove } = createFolder()
const by = { ...(await begin(folder, now)), actor: 'bench', at: now }
const db = openDatabase(folder)
db.run('PRAGMA synchronous = OFF')
addPeople(db, by.appId, now)
db.close()
const store = await openStore(folder, { threads: false, rules: STORE_RULES })
const say = (what: string, { steps, seconds, longest }: Awaited<ReturnType<typeof runSteps>>): void =>
  console.log(
    `${what}: ${seconds.toFixed(2)} s in ${steps.toLocaleString('en')} steps, the longest ${longest.toFixed(1)} ms`,
  )
try {
  let id: number | null = null
  const measure = async (name: string, trigger: Trigger, from: number) => {
    const content = { trigger, mail: { subject: 'S', body: 'B' } }
    const saved = await store.saveMessages({ ...by, drafts: [{ id, name: 'Timed', content, status: 'live' }] })
    if ('refusal' in saved) throw new Error(saved.refusal)
    id = saved.saved[0]?.id ?? null
    say(`${name}, scheduling ${PEOPLE.toLocaleString('en')} people`, await runSteps(store, [now]))
    const day = await runSteps(store, dayFrom(from))
    say(`${name}, a day`, day)
    return day.seconds
  }
  const seconds = await measure('date', DATE, now)
  // the day on which all who were inactive before are looked at again
  await measure('14 days inactive', INACTIVE, now + 14 * DAY_MS)
  process.exitCode = seconds < MOST_SECONDS ? 0 : 1
} finally {
  await store.close()
  remove()
}
