/**
 * `bun run bench:mail`: mails a second, judged, rendered, signed and handed to a mail server on this machine, by the
 * executable as it is shipped. Prints the median of the rounds, exits 1 when the bar is missed.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { DELIVERY_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import type { AppRow, EventWrite } from '../../src/store/types.ts'
import { createFolder, EXECUTABLE, runJson, startService } from './service.ts'

const MAILS = Number(process.env.BENCH_MAILS ?? 3_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const BAR = 300
const GIVE_UP_MS = 120_000

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

const makeEvent = ({ accountId, id: appId }: AppRow, number: number): EventWrite => ({
  accountId,
  appId,
  email: `person${number}@example.com`,
  shownEmail: null,
  newPeoplePerMonth: null,
  createContact: true,
  firstName: 'Ada',
  lastName: null,
  type: 'event',
  name: 'results_ready',
  properties: `{"headline":"Your ${number} pictures are ready.","url":"https://example.com/results/${number}"}`,
  path: null,
  via: 'api',
  at: Date.now(),
  occurredAt: null,
  buckets: [],
  idempotency: null,
})

/** The shipped draft, live and without its wait, and an event for each person. */
async function prepare(data: string): Promise<void> {
  const store = await openStore(data, { threads: false, rules: DELIVERY_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  const [draft] = FIRST_MESSAGES
  if (!app || !draft) throw new Error('there is no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'bench', at: Date.now() }
  const content = { ...draft.content, wait: { minutes: 0 } }
  await store.saveMessages({ ...by, drafts: [{ id: null, name: draft.name, status: 'live', content }] })
  const dkim = { dkimDomain: 'example.com', dkimSelector: 's1', dkimKey: privateKey }
  await store.setMailSettings({ ...by, settings: { perSecond: 100_000, fromEmail: 'hello@example.com', ...dkim } })
  for (let start = 0; start < MAILS; start += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, index) => store.recordEvent(makeEvent(app, start + index))))
  }
  await store.close()
}

type Taken = { mails: number; people: number; ms: number }

function readTaken(log: string): Taken {
  const lines = Array.from(readFileSync(log, 'utf8').matchAll(/^took (\d+) for (\d+) people in ([\d.]+) ms$/gm))
  const [, mails = '0', people = '0', ms = '0'] = lines.at(-1) ?? []
  return { mails: Number(mails), people: Number(people), ms: Number(ms) }
}

async function runRound(): Promise<number> {
  const folder = createFolder()
  const data = join(folder.path, 'data')
  const words = ['--data', data, '--email', 'bench@example.com', '--app', 'Bench', '--domain', 'example.com', '--json']
  await runJson([EXECUTABLE, 'init', ...words], folder.path)
  await prepare(data)
  const sink = await startService([process.execPath, join(import.meta.dir, 'mail-sink.ts')], folder.path)
  const serve = [EXECUTABLE, 'serve', '--data', data, '--port', '0', '--smtp-url', sink.url]
  const service = await startService(serve, folder.path)
  const until = performance.now() + GIVE_UP_MS
  while (readTaken(sink.log).mails < MAILS && performance.now() < until) await Bun.sleep(100)
  await service.stop()
  await sink.stop()
  const { mails, people, ms } = readTaken(sink.log)
  folder.remove()
  if (mails !== MAILS || people !== MAILS) throw new Error(`${mails} of ${MAILS} mails came, for ${people} people`)
  return (mails / ms) * 1000
}

const rates: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  rates.push(await runRound())
  console.log(`${rates.at(-1)?.toFixed(0)} mails/s`)
}
const median = rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 0
const isReached = median >= BAR
console.log(`${isReached ? 'reached' : 'MISSED '}  mails a second (median): ${median.toFixed(0)} (at least ${BAR})`)
process.exitCode = isReached ? 0 : 1
