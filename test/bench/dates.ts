/**
 * `bun run bench:dates`: what live messages cost that are triggered by a date of a person or by inactivity, with a
 * million people: scheduling them once, then a day of looks every five seconds for people who are due, and of steps that
 * save the emails of those who are, each with its own commit. Exits 1 if the looks of a day take a second or more.
 * DATES_PEOPLE sets another number of people.
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

/** Looks for people who are due, and takes steps until nothing is left to do at once. `longest`: the longest step (ms). */
async function runSteps(store: Store, times: Iterable<number>) {
  let [looks, looking, steps, stepping, longest] = [0, 0, 0, 0, 0]
  for (const at of times) {
    const from = performance.now()
    let hasMore = await store.hasScheduledWork(at)
    ;[looks, looking] = [looks + 1, looking + performance.now() - from]
    while (hasMore) {
      const startedAt = performance.now()
      const outcome = await store.runSchedules({ at })
      if ('refusal' in outcome) throw new Error(outcome.refusal)
      const ms = performance.now() - startedAt
      ;[steps, stepping, longest, hasMore] = [steps + 1, stepping + ms, Math.max(longest, ms), outcome.hasMore]
    }
  }
  return { looks, looking: looking / 1000, steps, stepping: stepping / 1000, longest }
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
const inWords = (count: number, seconds: number): string => `${count.toLocaleString('en')} in ${seconds.toFixed(2)} s`
const say = (what: string, { looks, looking, steps, stepping, longest }: Awaited<ReturnType<typeof runSteps>>): void =>
  console.log(
    `${what}: looks ${inWords(looks, looking)}, steps ${inWords(steps, stepping)}, the longest ${longest.toFixed(1)} ms`,
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
    return day.looking
  }
  const seconds = await measure('date', DATE, now)
  // the day on which all who were inactive before are looked at again
  await measure('14 days inactive', INACTIVE, now + 14 * DAY_MS)
  process.exitCode = seconds < MOST_SECONDS ? 0 : 1
} finally {
  await store.close()
  remove()
}
