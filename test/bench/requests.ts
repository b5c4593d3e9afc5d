/**
 * `bun run bench:requests`: events a second with the request log beside an executable without it, interleaved, because
 * machines are noisy. Both record the same events. Exits 1 if the log costs more than 2 %. BENCH_ROUNDS and
 * BENCH_SECONDS shorten it.
 */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasWrk, sendLoad, type Target } from './load.ts'
import { createFolder, EXECUTABLE, waitForRest } from './service.ts'
import { startTarget } from './target.ts'

const ROOT = join(import.meta.dir, '../..')
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 31)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
const CONNECTIONS = 64
const PEOPLE = 20_000
const MOST_COST = 0.02

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const WITHOUT = `const nothing = async () => {}
export const createRequestLog = (_: object) => ({ add: (_: object) => {}, save: nothing })
export const listShownAccounts = async (_: object, accountId: string) => [accountId]
export const KEYLESS = { unknown: 'unknown_key', none: 'no_key', browser: 'browser', bounces: 'bounces' } as const
`

/** The executable of the same source without the log. */
async function buildWithout(folder: string): Promise<string> {
  const copy = join(folder, 'without')
  mkdirSync(copy)
  for (const name of ['src', 'dist/assets', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  writeFileSync(join(copy, 'src/http/request-log.ts'), WITHOUT)
  const words = [process.execPath, 'run', 'compile', '--outfile', 'eventpost']
  const child = Bun.spawn(words, { cwd: copy, stdout: 'ignore', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  return join(copy, 'eventpost')
}

type Started = Awaited<ReturnType<typeof startTarget>>

async function measure({ target, service }: Started, run: string): Promise<number> {
  const load = await sendLoad({ ...(target as Target), run }, 'events', CONNECTIONS, SECONDS)
  await waitForRest(service.pid)
  if (load.failed > 0) throw new Error(`${load.failed} events failed`)
  return load.requestsPerSecond
}

const folder = createFolder()
try {
  const executables = { with: EXECUTABLE, without: await buildWithout(folder.path) }
  const start = (name: keyof typeof executables): Promise<Started> => {
    const own = join(folder.path, `data-${name}`)
    mkdirSync(own)
    return startTarget(executables[name], own, PEOPLE)
  }
  const services = { with: await start('with'), without: await start('without') }
  console.log(hasWrk() ? 'client: wrk, one thread' : 'client: built-in (install wrk for figures that count)')
  for (const name of ['with', 'without'] as const) await measure(services[name], `warm-${name}`)
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    // in turns, so that neither is always the first
    const order = round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)
    const rates = { with: 0, without: 0 }
    for (const name of order) rates[name] = await measure(services[name], `${round}`)
    ratios.push(rates.with / rates.without)
    console.log(`with ${rates.with}/s, without ${rates.without}/s, ratio ${(ratios.at(-1) ?? 0).toFixed(3)}`)
  }
  for (const { service } of Object.values(services)) await service.stop()
  const cost = 1 - median(ratios)
  const isReached = cost <= MOST_COST
  console.log(
    `${isReached ? 'reached' : 'MISSED '}  the request log costs ${percent(cost)} (at most ${percent(MOST_COST)})`,
  )
  process.exitCode = isReached ? 0 : 1
} finally {
  folder.remove()
}
