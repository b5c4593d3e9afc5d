/**
 * `bun run bench:mail`: emails a second, decided, rendered, signed and handed to a mail server on this machine, by the
 * executable as it is shipped. Prints the median of the rounds, exits 1 when it is below TARGET.
 * `bun run bench:mail postmark` (or `resend`, `ses`): to the API of a provider, which signs instead.
 * `bun run bench:mail beside`: at 300 emails a second while 2,000 events a second are offered, whether they are answered
 * or not; exits 1 unless all events were accepted, 99 of 100 within 50 ms, and 300 emails a second came.
 * `bun run bench:mail EXECUTABLE`: against another executable, interleaved; the median ratio must reach TARGET_RATIO.
 */
import { Database } from 'bun:sqlite'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { createFolder, EXECUTABLE, runJson, startService } from './service.ts'

/** Nothing, the name of a provider, `beside`, or the path of an executable. */
const [, , asked] = process.argv
/** 20 seconds at TARGET; in the first few, code is still being compiled. */
const ALONE = 20_000
const AGAINST = 3_000
const MAILS = Number(process.env.BENCH_MAILS ?? (asked === 'beside' ? 6_000 : asked?.includes('/') ? AGAINST : ALONE))
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const TARGET = 1_000
const TARGET_RATIO = 2
const GIVE_UP_MS = 120_000
const BATCH = 100

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

/** Beside events. The first seconds, in which code is compiled, count only for the emails. The limit is above what must come, so that a pause of a moment can be made up for. */
const BESIDE = {
  emailsPerSecond: 300,
  limit: 330,
  eventsPerSecond: 2_000,
  warmSeconds: 3,
  seconds: 18,
  tickMs: 5,
  p99Ms: 50,
}

/** Where emails go: a server of this kind, in a process of its own, at this URL. */
type Sink = { file: string; urlOf: (url: string) => string }

const toApi = (login: string): Sink => ({
  file: 'api-sink.ts',
  urlOf: (url) => url.replace('http://', login),
})
const SMTP: Sink = { file: 'mail-sink.ts', urlOf: (url) => url }
const SINKS = new Map<string | undefined, Sink>([
  [undefined, SMTP],
  ['postmark', toApi('postmark://token@')],
  ['resend', toApi('resend://key@')],
  ['ses', toApi('ses://AKIAIOSFODNN7EXAMPLE:secret@')],
])

/** Everything is due once `makeDue` says so. */
const WAIT = { minutes: 60 }
const [draft] = FIRST_MESSAGES

/** What every version of the executable can import. */
const PLAIN = {
  trigger: { event: 'results_ready' },
  onlyIf: [
    { rule: 'notSeen', ifUnknown: 'send' },
    { rule: 'away', at: 'trigger', ifUnknown: 'send' },
    { rule: 'away', minutes: 5, ifUnknown: 'send' },
  ],
  again: { once: 'person' },
  mail: {
    subject: '{{ event.headline | default: "Your results are ready" }}',
    preheader: 'Take a look whenever you like.',
    body: [
      'Hello {{ contact.firstName | default: "there" }},',
      'Your results are ready.',
      '**{{ event.headline }}**',
      '[See your results]({{ event.url }})',
    ].join('\n\n'),
  },
}

const makeEvent = (app: string, number: number) => ({
  app,
  email: `person${number}@example.com`,
  event: 'results_ready',
  createContact: true,
  firstName: 'Ada',
  properties: { headline: `Your ${number} pictures are ready.`, url: `https://example.com/results/${number}` },
})

/** Fills a data folder below `folder` by the executable itself, whatever its version, and lets all emails be due. */
async function prepare(executable: string, folder: string, content: object): Promise<Install> {
  mkdirSync(folder)
  const data = join(folder, 'data')
  const run = (...words: string[]) => runJson([executable, ...words, '--data', data, '--json'], folder)
  const made = await run('init', '--email', 'bench@example.com', '--app', 'Bench', '--domain', 'example.com')
  await run('plan', 'set', '--events-per-hour', 'unlimited')
  change(data, (db) => {
    db.run('DELETE FROM app_mail_settings')
    db.run(
      `INSERT INTO app_mail_settings (app_id, from_email, per_second, dkim_domain, dkim_selector, dkim_key)
       SELECT id, 'hello@example.com', 100000, 'example.com', 's1', ? FROM apps`,
      [privateKey],
    )
  })
  const file = join(folder, 'messages.json')
  await Bun.write(file, JSON.stringify([{ name: 'Results', status: 'live', ...content, wait: WAIT }]))
  await run('message', 'import', file, '--app', made.appId ?? '')
  const service = await startService([executable, 'serve', '--data', data, '--port', '0'], folder)
  await sendEvents(service.url, { key: made.apiKey ?? '', app: made.appId ?? '' })
  await service.stop()
  change(data, (db) => db.run('UPDATE deliveries SET planned_at = ?1, due_at = ?1', [Date.now()]))
  return { data, key: made.apiKey ?? '', app: made.appId ?? '' }
}

function change(data: string, statements: (db: Database) => void): void {
  const db = new Database(join(data, 'eventpost.db'))
  statements(db)
  db.close()
}

async function sendEvents(url: string, { key, app }: { key: string; app: string }): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  for (let start = 0; start < MAILS; start += BATCH) {
    const size = Math.min(BATCH, MAILS - start)
    const events = Array.from({ length: size }, (_, index) => makeEvent(app, start + index))
    const response = await fetch(`${url}/api/v1/events/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ events }),
    })
    if (!response.ok) throw new Error(`the events were refused: ${await response.text()}`)
  }
}

type Taken = { mails: number; people: number; ms: number }

function readTaken(log: string): Taken {
  const lines = Array.from(readFileSync(log, 'utf8').matchAll(/^took (\d+) for (\d+) people in ([\d.]+) ms$/gm))
  const [, mails = '0', people = '0', ms = '0'] = lines.at(-1) ?? []
  return { mails: Number(mails), people: Number(people), ms: Number(ms) }
}

/** Sends all of a copy of the prepared folder. @returns emails a second */
async function send(executable: string, prepared: string, folder: string, to = SMTP): Promise<number> {
  const data = join(folder, 'sending')
  cpSync(prepared, data, { recursive: true })
  const sink = await startService([process.execPath, join(import.meta.dir, to.file)], folder)
  const env = { EVENTPOST_SMTP_URL: to.urlOf(sink.url) }
  const service = await startService([executable, 'serve', '--data', data, '--port', '0'], folder, env)
  const until = performance.now() + GIVE_UP_MS
  while (readTaken(sink.log).mails < MAILS && performance.now() < until) await Bun.sleep(100)
  await service.stop()
  await sink.stop()
  const { mails, people, ms } = readTaken(sink.log)
  rmSync(data, { recursive: true })
  if (mails !== MAILS || people !== MAILS) throw new Error(`${mails} of ${MAILS} mails came, for ${people} people`)
  return (mails / ms) * 1000
}

type Install = { data: string; key: string; app: string }

/** Offers events at a steady rate. @returns ms from when each was to be sent until its answer; null: not accepted */
async function offerEvents(url: string, { key, app }: Install): Promise<(number | null)[]> {
  const { eventsPerSecond, seconds, tickMs } = BESIDE
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  const startedAt = performance.now()
  const offer = async (number: number): Promise<number | null> => {
    const plannedAt = startedAt + (number / eventsPerSecond) * 1000
    const event = { app, email: `person${number % MAILS}@example.com`, event: 'clicked', properties: { number } }
    try {
      const sent = await fetch(`${url}/api/v1/events`, { method: 'POST', headers, body: JSON.stringify(event) })
      await sent.arrayBuffer()
      return sent.status === 202 ? performance.now() - plannedAt : null
    } catch {
      return null
    }
  }
  const offered: Promise<number | null>[] = []
  while (offered.length < eventsPerSecond * seconds) {
    const wanted = Math.floor(((performance.now() - startedAt) / 1000) * eventsPerSecond)
    while (offered.length < Math.min(wanted, eventsPerSecond * seconds)) offered.push(offer(offered.length))
    await Bun.sleep(tickMs)
  }
  return Promise.all(offered)
}

async function measureBeside(folder: string): Promise<boolean> {
  const { emailsPerSecond, limit, eventsPerSecond, warmSeconds, seconds, p99Ms } = BESIDE
  const install = await prepare(EXECUTABLE, join(folder, 'ours'), draft?.content ?? {})
  change(install.data, (db) => db.run('UPDATE app_mail_settings SET per_second = ?', [limit]))
  const sink = await startService([process.execPath, join(import.meta.dir, SMTP.file)], folder)
  const env = { EVENTPOST_SMTP_URL: sink.url }
  const service = await startService([EXECUTABLE, 'serve', '--data', install.data, '--port', '0'], folder, env)
  const times = await offerEvents(service.url, install)
  const { mails } = readTaken(sink.log)
  await service.stop()
  await sink.stop()
  const accepted = times.filter((ms) => ms !== null)
  const counted = times.slice(eventsPerSecond * warmSeconds).map((ms) => ms ?? Number.POSITIVE_INFINITY)
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map(
    (share) => counted.toSorted((a, b) => a - b)[Math.floor(counted.length * share)],
  )
  const rate = mails / seconds
  const isReached = accepted.length === times.length && p99 <= p99Ms && rate >= emailsPerSecond
  console.log(
    `${isReached ? 'reached' : 'MISSED '}  ${accepted.length} of ${times.length} events accepted, ` +
      `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (at most ${p99Ms}), ` +
      `${rate.toFixed(0)} emails a second (at least ${emailsPerSecond})`,
  )
  return isReached
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

async function measureAlone(folder: string, to: Sink): Promise<boolean> {
  const { data } = await prepare(EXECUTABLE, join(folder, 'ours'), draft?.content ?? {})
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rates.push(await send(EXECUTABLE, data, folder, to))
    console.log(`${rates.at(-1)?.toFixed(0)} mails/s`)
  }
  const isReached = median(rates) >= TARGET
  console.log(
    `${isReached ? 'reached' : 'MISSED '}  mails a second (median): ${median(rates).toFixed(0)} (at least ${TARGET})`,
  )
  return isReached
}

async function measureAgainst(other: string, folder: string): Promise<boolean> {
  const make = async (name: string, executable: string) => ({
    executable,
    prepared: (await prepare(executable, join(folder, name), PLAIN)).data,
    rates: [] as number[],
  })
  const [ours, theirs] = [await make('ours', EXECUTABLE), await make('theirs', resolve(other))]
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // each is first as often as the other
    for (const one of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) {
      one.rates.push(await send(one.executable, one.prepared, folder))
    }
    const [mine = 0, base = 1] = [ours.rates.at(-1), theirs.rates.at(-1)]
    ratios.push(mine / base)
    console.log(`${mine.toFixed(0)} against ${base.toFixed(0)} mails/s, ratio ${(mine / base).toFixed(2)}`)
  }
  const isReached = median(ratios) >= TARGET_RATIO
  console.log(
    `${isReached ? 'reached' : 'MISSED '}  median ratio ${median(ratios).toFixed(2)} (at least ${TARGET_RATIO}), ` +
      `medians ${median(ours.rates).toFixed(0)} and ${median(theirs.rates).toFixed(0)} mails/s`,
  )
  return isReached
}

const sink = SINKS.get(asked)
const folder = createFolder()
try {
  const measure = (): Promise<boolean> => {
    if (asked === 'beside') return measureBeside(folder.path)
    return sink ? measureAlone(folder.path, sink) : measureAgainst(asked ?? '', folder.path)
  }
  const isReached = await measure()
  process.exitCode = isReached ? 0 : 1
} finally {
  folder.remove()
}
