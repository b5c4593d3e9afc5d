import { afterAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOnPostgres, postgresOf } from '../postgres/test-databases.ts'
import { type Begun, call, eventpostJson, makeFolder, MANY_MS, prepareData, PROGRAM, startServer } from './process.ts'
import { cookieOf, postForm } from './signing-in.ts'

const { folder, remove } = makeFolder()
afterAll(remove)

const trace = join(folder, 'connections')
/** As a grandchild, so that signals reach the server. */
const traced = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-e', 'trace=connect', '-o', trace]
/** What connects to PostgreSQL is configured. */
const DATABASE = isOnPostgres ? `sin_port=htons(${new URL(postgresOf(folder).url).port})` : 'none'
const canTrace = Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success

test.skipIf(!canTrace)(
  'a server without configuration opens no connection: at its start, for events and pages, and at its end',
  async () => {
    const password = join(folder, 'password')
    writeFileSync(password, 'correct horse battery')
    const owner = { email: 'owner@example.com', password: 'correct horse battery' }
    const made = ['init', '--data', folder, '--email', owner.email, '--app', 'Demo', '--password-file', password]
    await prepareData(folder)
    const { appId, apiKey } = await eventpostJson<Begun>(made)
    const server = await startServer({ data: folder, program: [...traced, ...PROGRAM] })
    const event = { app: appId, email: 'ada@example.com', event: 'results_ready', createContact: true }
    expect((await call(server.url, apiKey, 'POST', '/api/v1/events', event)).status).toBe(202)
    const cookie = cookieOf(await postForm(server.url, '/sign-in', owner))
    for (const page of ['overview', 'people', 'events', 'messages', 'sender', 'sender/domain', 'settings', 'audit']) {
      const { status } = await fetch(`${server.url}/apps/${appId}/${page}`, { headers: { cookie }, redirect: 'manual' })
      expect([page, status]).toEqual([page, 200])
    }
    for (const path of ['/docs', '/s.js', '/readyz']) expect((await fetch(server.url + path)).status).toBe(200)
    await server.stop()
    const connections = readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => /connect\(.*AF_INET/.test(line) && !line.includes(DATABASE))
    expect(connections).toEqual([])
  },
  MANY_MS,
)
