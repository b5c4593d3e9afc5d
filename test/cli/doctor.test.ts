import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Examined, printFindings } from '../../src/cli/examine.ts'
import { openTestStore } from '../data-folder.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { startMailServer } from '../mail/mail-server.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { eventpost, makeFolder, setUp, startServer } from './process.ts'

let place: ReturnType<typeof makeFolder>
let data = ''
beforeAll(async () => {
  place = makeFolder()
  data = join(place.folder, 'data')
  await setUp(data)
})
afterAll(() => place.remove())

const examine = async (words: string[] = [], env: Record<string, string> = {}, folder = data) => {
  const { code, out, err } = await eventpost(['doctor', '--data', folder, '--json', ...words], { env })
  return { code, err, ...(JSON.parse(out) as Examined) }
}
const badOf = ({ findings }: Examined) => findings.filter(({ state }) => state === 'bad').map(({ check }) => check)

describe('eventpost doctor', () => {
  test('without a server and offline exits 0, and names no call but that of the database', async () => {
    const found = await examine(['--offline'])
    expect([found.code, found.called, badOf(found)]).toEqual([0, isOnPostgres ? ['PostgreSQL'] : [], []])
    // as root's, it would keep the server's user from starting
    expect(existsSync(join(data, 'serve.lock'))).toBe(false)
  })

  test('ends with the network calls that it made', () => {
    const finding = { check: 'Disk', state: 'good', text: 'Enough.', fix: null } as const
    const examined: Examined = { isOk: true, summary: 'No problems found.', findings: [finding], called: [] }
    expect(printFindings(examined)).toEndWith('\nNo network calls were made.')
    expect(printFindings({ ...examined, called: ['PostgreSQL', 'example.com'] })).toEndWith(
      '\nNetwork calls: PostgreSQL, example.com.',
    )
  })

  test.skipIf(isOnPostgres)('exits 1 with a line on stderr if there are problems, and changes nothing', async () => {
    const file = join(data, 'eventpost.db')
    chmodSync(file, 0o644)
    const found = await examine(['--offline', '--base-url', 'https://post.example.com'])
    expect([found.code, badOf(found)]).toEqual([1, ['Permissions', 'Proxy']])
    expect(found.err).toMatch(/^eventpost: 2 problems, \d+ recommendations\.$/m)
    expect(statSync(file).mode & 0o777).toBe(0o644)
    chmodSync(file, 0o600)
  })

  test.skipIf(isOnPostgres)('removes the copy of an upgrade of a week ago, and says so', async () => {
    const copy = join(data, 'eventpost.db.before-7')
    writeFileSync(copy, '', { mode: 0o600 })
    expect((await examine(['--offline'])).findings.map(({ text }) => text).join('\n')).not.toContain('before-7')
    utimesSync(copy, 0, 0)
    // this clock may be ahead, and nothing stored says otherwise
    await examine(['--offline'])
    expect(existsSync(copy)).toBe(true)
    const people = join(place.folder, 'people.csv')
    writeFileSync(people, 'email\nada@example.com\n')
    expect((await eventpost(['import', people, '--data', data])).code).toBe(0)
    rmSync(people)
    const { code, findings } = await examine(['--offline'])
    expect([code, existsSync(copy)]).toEqual([0, false])
    const text = `Removed ${copy}, a copy made before an upgrade more than a week ago.`
    expect(findings).toContainEqual({ check: 'Disk', state: 'good', text, fix: null })
  })

  test.skipIf(isOnPostgres)('exits 1 where there is no database, and creates none', async () => {
    const nowhere = join(place.folder, 'nowhere')
    const { code, out } = await eventpost(['doctor', '--data', nowhere])
    expect(code).toBe(1)
    expect(out).toContain(`There is no database in ${nowhere}.`)
    expect(readdirSync(place.folder)).toEqual(['data'])
  })

  test.skipIf(isOnPostgres)(
    'and every command name a database that is damaged beyond its first page, and how to restore',
    async () => {
      const broken = join(place.folder, 'broken')
      cpSync(data, broken, { recursive: true })
      const file = openSync(join(broken, 'eventpost.db'), 'r+')
      writeSync(file, Buffer.alloc(40_960, 0x5a), 0, 40_960, 4_096)
      closeSync(file)
      chmodSync(join(broken, 'eventpost.db'), 0o644)
      const advice = `restore a backup: eventpost restore FILE --data ${broken}`
      const examined = await eventpost(['doctor', '--offline', '--data', broken])
      expect([examined.code, examined.out]).toEqual([1, expect.stringContaining(advice)])
      expect(examined.out).toContain(`Run chmod go-rwx ${join(broken, 'eventpost.db')}`)
      expect([examined.err, examined.out]).toEqual([
        'eventpost: 2 problems found.\n',
        expect.not.stringContaining('problems found'),
      ])
      chmodSync(join(broken, 'eventpost.db'), 0o600)
      const commands = [
        ['key', 'list'],
        ['person', 'export', 'ada@example.com'],
        ['serve', '--port', '0'],
      ]
      for (const words of commands) {
        const { code, err } = await eventpost([...words, '--data', broken])
        expect([code, err.trim().split('\n')]).toEqual([1, [expect.stringContaining(advice)]])
        expect(err).toStartWith(`eventpost: ${join(broken, 'eventpost.db')} is damaged.`)
      }
      rmSync(broken, { recursive: true })
    },
  )

  test('exits 2 on wrong use', async () => {
    expect((await eventpost(['doctor', '--data', data, '--fix'])).code).toBe(2)
  })

  test('beside a running server checks what it was started with, and says what it called', async () => {
    const mail = await startMailServer()
    const env = { EVENTPOST_SMTP_URL: mail.url, EVENTPOST_MAIL_FROM: 'Post <post@example.com>' }
    const server = await startServer({ data, env })
    const fine = await examine([], env)
    await mail.stop()
    const broken = await examine([], env)
    await server.stop()
    const name = `127.0.0.1:${mail.port}`
    expect(fine.called).toContain(name)
    const about = (found: Examined) => found.findings.find(({ check }) => check === 'Mail server')
    expect(about(fine)).toMatchObject({ state: 'good', text: `${name} responds.` })
    expect(about(broken)).toMatchObject({ state: 'bad' })
    expect(broken.code).toBe(1)
  })

  test('in a shell without settings checks private mail servers as the last server did, and says what only that has', async () => {
    const own = join(place.folder, 'own')
    const mail = await startMailServer()
    const name = `127.0.0.1:${mail.port}`
    await setUp(own)
    const store = await openTestStore(own, { rules: STORE_RULES })
    const account = await store.findAccount(null)
    const [app] = await store.listApps(account?.id ?? '')
    const by = { accountId: account?.id ?? '', appId: app?.id ?? 0, actor: 'test', at: Date.now() }
    await store.setMailSettings({ ...by, settings: { smtpUrl: mail.url } })
    await store.close()
    const runWith = async (env: Record<string, string>) => {
      await (await startServer({ data: own, env })).stop()
      return examine([], {}, own)
    }
    const about = ({ findings }: Examined, check: string) => findings.filter((one) => one.check === check)
    const route = { EVENTPOST_ALERT_SMTP_URL: 'smtps://alerts.example.com' }
    const allowed = await runWith({ ...route, EVENTPOST_MAIL_PRIVATE_HOSTS: '127.0.0.0/8,mail.internal' })
    const refused = await runWith(route)
    await mail.stop()
    expect(about(allowed, 'Mail server')).toMatchObject([{ state: 'good', text: `${name} responds.` }])
    expect(about(allowed, 'Alerts')).toMatchObject([
      { state: 'unknown', fix: expect.stringContaining("with the server's EVENTPOST_ALERT_WEBHOOK_URL") },
    ])
    expect(about(refused, 'Mail server')).toMatchObject([
      { state: 'bad', fix: expect.stringContaining('EVENTPOST_MAIL_PRIVATE_HOSTS') },
    ])
  })
})
