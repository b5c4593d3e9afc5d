/** Runs the samples as files. `bun run samples` runs those of every language. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signEmail } from '../../src/accounts/identity.ts'
import {
  browserSamples,
  environmentSample,
  EXAMPLE_VALUES,
  fillSample,
  PAGE_SAMPLES,
  SECRETS_WARNING,
  serverSamples,
} from '../../src/docs/samples.ts'
import { createApiPages } from '../../src/docs/api-pages.ts'
import { EXAMPLES } from '../../src/api/examples.ts'
import type { OpenApi } from '../../src/api/openapi.ts'
import { joinFirst } from '../mcp/client.ts'
import { CONTACTS, createTestServer, type TestServer } from '../helper.ts'
import { createMessaging, messageOf, type Messaging } from '../messaging.ts'
import { publicId } from '../../src/core/ids.ts'

const EMAIL = '  Ada@Example.com '
const SIGNED = `'${EMAIL}'`
/** Compiling Go for the first time takes longest. */
const RUN_MS = 120_000

type How = {
  /** the required program, and how it runs a file */
  run: (file: string) => string[]
  file: string
  identityFile?: string
  /** calls the signing function with an email and prints the result */
  sign: (code: string) => string
}

const HOW: Record<string, How> = {
  curl: {
    run: (file) => ['sh', file],
    file: 'event.sh',
    sign: (code) => code,
  },
  node: {
    run: (file) => ['node', file],
    file: 'a.mjs',
    sign: (code) => `${code}\nconsole.log(identitySignature(${SIGNED}))`,
  },
  bun: {
    run: (file) => [process.execPath, file],
    file: 'a.ts',
    sign: (code) => `${code}\nconsole.log(identitySignature(${SIGNED}))`,
  },
  python: {
    run: (file) => ['python3', file],
    file: 'a.py',
    sign: (code) => `${code}\n\nprint(identity_signature(${SIGNED}))`,
  },
  php: { run: (file) => ['php', file], file: 'a.php', sign: (code) => `${code}\necho identity_signature(${SIGNED});` },
  ruby: { run: (file) => ['ruby', file], file: 'a.rb', sign: (code) => `${code}\nputs identity_signature(${SIGNED})` },
  go: {
    run: (file) => ['go', 'run', file],
    file: 'a.go',
    sign: (code) =>
      `${code.replace('"encoding/hex"', '"encoding/hex"\n\t"fmt"')}\n\nfunc main() { fmt.Println(identitySignature("${EMAIL}")) }`,
  },
  nextjs: { run: (file) => [process.execPath, file], file: 'page.ts', sign: () => '' },
}

let server: TestServer
let messaging: Messaging
let http: ReturnType<typeof Bun.serve>
const folder = mkdtempSync(join(tmpdir(), 'eventpost-code-'))

beforeAll(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
  await messaging.put(messageOf({ trigger: { event: 'waits' }, wait: { minutes: 10 } }))
  await joinFirst(server)
  http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => server.send(request) })
  // replaces the packages of Next.js
  mkdirSync(join(folder, 'node_modules/server-only'), { recursive: true })
  writeFileSync(join(folder, 'node_modules/server-only/index.js'), '')
  mkdirSync(join(folder, 'lib'))
  writeFileSync(join(folder, 'tsconfig.json'), '{"compilerOptions":{"paths":{"@/*":["./*"]}}}')
})
afterAll(async () => {
  await http.stop(true)
  await server.close()
  rmSync(folder, { recursive: true })
})

const samples = (baseUrl: string) =>
  serverSamples({ baseUrl, appId: server.first.appId, homeUrl: 'https://first.example' })
const codeOf = (id: string, baseUrl = `http://127.0.0.1:${http.port}`) => {
  const found = samples(baseUrl).find((one) => one.id === id)
  if (!found) throw new Error(`no code for ${id}`)
  return found.blocks.map(({ code }) => code)
}

async function run(id: string, code: string, environment: Record<string, string> = {}) {
  const how = HOW[id]
  if (!how) throw new Error(`no way to run ${id}`)
  const path = join(folder, how.file)
  writeFileSync(path, code)
  const { apiKey, identitySecret } = server.first
  const secrets = { SERVICE_API_KEY: apiKey, SERVICE_IDENTITY_SECRET: identitySecret }
  const child = Bun.spawn(how.run(path), {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, GO111MODULE: 'off', ...secrets, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: RUN_MS,
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out: out.trim(), err }
}

/** Next.js: the library and the page. */
function eventCode(id: string, baseUrl?: string): string {
  const [first = '', second = ''] = codeOf(id, baseUrl)
  if (id !== 'nextjs') return first
  writeFileSync(join(folder, 'lib/eventpost.ts'), first)
  return second
}

/** PHP, Ruby and Go take longer to install and run than the others together: `bun run samples`. */
const IS_ALL = process.env.SAMPLES === 'all'
const RUN = IS_ALL ? Object.keys(HOW) : ['curl', 'node', 'bun', 'python', 'nextjs']
/** `bun run samples` also calls these in the other languages, whose programs start slowly. */
const OF_DELIVERIES = ['List deliveries', 'Find a delivery', 'Cancel an email', 'Send an email now']
const OF_MESSAGES = [
  'Send failed emails again',
  'List messages',
  'Save a message',
  'Find a message',
  'Preview a message',
  'Simulate a message',
  'Explain a message for one person',
  'Set the status of a message',
  'Send a test email',
]
const RUN_WITH_DELIVERIES = IS_ALL ? RUN : ['curl', 'bun']

/** The ID of a new email that waits. */
async function addWaiting(): Promise<string> {
  await messaging.event({ event: 'waits', email: `${crypto.randomUUID()}@example.com` })
  return publicId('dlv', (await messaging.deliveries()).at(-1)?.id ?? 0)
}

/** About a message that may go live, under another name than those before. */
async function ofMessage(code: string): Promise<string> {
  const app = server.first.appId
  const { apiKey: key } = await server.makeKey('manage')
  const { status: _, ...message } = messageOf({ name: crypto.randomUUID(), trigger: { event: 'ready' } })
  const saved = await server.call('POST', '/api/v1/messages', { key, body: { app, message } })
  const id = String(saved.body.messageId)
  const { body } = await server.call('GET', `/api/v1/messages/${id}/preview?app=${app}`, { key })
  return code
    .replaceAll(/\bmsg_\w+/g, id)
    .replaceAll(EXAMPLES.previewMessage.answer.token, String(body.token))
    .replaceAll('grace@example.com', 'first@owner.example')
    .replaceAll('Pictures ready', crypto.randomUUID())
}

const eventCount = async (): Promise<number> =>
  ((await server.call('GET', `/api/v1/events?app=${server.first.appId}&limit=100`)).body.data ?? []).length

test('there is code for eight languages', () => {
  expect(samples('http://x').map(({ name }) => name)).toEqual([
    'curl',
    'Node',
    'Bun',
    'Python',
    'PHP',
    'Ruby',
    'Go',
    'Next.js',
  ])
  expect(samples('http://x').map(({ id }) => id)).toEqual(Object.keys(HOW))
})

test('the programs of the languages are installed', () => {
  const programs = RUN.map((id) => HOW[id]?.run('')[0] ?? '')
  expect(programs.filter((program) => Bun.which(program) === null)).toEqual([])
})

describe.each(RUN)('%s', (id) => {
  test(
    'sends the event as written',
    async () => {
      const before = await eventCount()
      const { code, err } = await run(id, eventCode(id))
      expect([code, err]).toEqual([0, ''])
      const { body } = await server.call('GET', `/api/v1/events?app=${server.first.appId}&limit=100`)
      expect(body.data).toHaveLength(before + 1)
      expect(body.data?.[0]).toMatchObject({
        event: 'results_ready',
        email: 'ada@example.com',
        properties: { url: 'https://first.example/results/1', headline: 'Your 12 pictures are ready.' },
      })
    },
    RUN_MS,
  )

  test(
    'continues after a refusal, without a server or a key, and logs it',
    async () => {
      const refused = await run(id, eventCode(id), { SERVICE_API_KEY: 'mc_wrong' })
      const nobody = await run(id, eventCode(id, 'http://127.0.0.1:1'))
      const without = await run(id, eventCode(id), { SERVICE_API_KEY: '' })
      expect([refused.code, nobody.code, without.code]).toEqual([0, 0, 0])
      expect(refused.out + refused.err).toContain('Invalid API key')
      expect(nobody.err).toContain('Eventpost')
      expect(without.out + without.err).toContain('Invalid API key')
    },
    RUN_MS,
  )

  test.skipIf(id === 'nextjs')(
    'signs an email as the service does',
    async () => {
      const code = HOW[id]?.sign(codeOf(id)[1] ?? '') ?? ''
      expect(await run(id, code)).toEqual({
        code: 0,
        out: signEmail('ada@example.com', server.first.identitySecret),
        err: '',
      })
    },
    RUN_MS,
  )
})

test(
  'waits at most 10 seconds',
  async () => {
    const hanging = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 60,
      fetch: () => new Promise<Response>(() => {}),
    })
    const runs = RUN.map(async (id) => {
      const startedAt = performance.now()
      const { code, err } = await run(id, eventCode(id, `http://127.0.0.1:${hanging.port}`))
      return { id, code, seconds: Math.round((performance.now() - startedAt) / 1000), says: err.includes('Eventpost') }
    })
    const ends = await Promise.all(runs)
    await hanging.stop(true)
    for (const end of ends) {
      expect(end).toMatchObject({ code: 0, says: true })
      expect(end.seconds).toBeGreaterThanOrEqual(10)
      // starting a language takes time on a busy machine
      expect(end.seconds).toBeLessThanOrEqual(20)
    }
  },
  RUN_MS,
)

test('Next.js signs in its library and identifies in the browser', async () => {
  const [library = '', , component = ''] = codeOf('nextjs')
  expect(library).toStartWith("import 'server-only'\n")
  writeFileSync(join(folder, 'lib/eventpost.ts'), library)
  const { out } = await run(
    'nextjs',
    `import { identitySignature } from '@/lib/eventpost'\nconsole.log(identitySignature(${SIGNED}))`,
  )
  expect(out).toBe(signEmail('ada@example.com', server.first.identitySecret))
  expect(component).toStartWith("'use client'\n")
  expect(component).not.toContain('SERVICE_')
})

describe('filled-in values', () => {
  const all = (baseUrl: string) =>
    samples(baseUrl)
      .flatMap(({ blocks }) => blocks)
      .map(({ code }) => code)
      .join('\n')

  test('are the app and the address, never a secret', () => {
    const code = all('https://post.example.com')
    expect(code.match(/https:\/\/post\.example\.com\/api\/v1\/events/g)).toHaveLength(8)
    expect(code.split(server.first.appId)).toHaveLength(9)
    expect(code.match(/https:\/\/first\.example\/results\/1/g)).toHaveLength(8)
    expect(code).not.toMatch(/mc_|is_[0-9A-Za-z]{8}|\{[a-z_]+\}/)
  })

  test('never end a quoted text', () => {
    const code = all(`https://post.example.com/'"$\`\\#{}<>`)
    expect(code).toContain('https://post.example.com/%27%22%24%60%5c%23%7b%7d%3c%3e/api/v1/events')
  })
})

describe('of the documentation', () => {
  const samplesNamed = (name: string) => PAGE_SAMPLES.get(name) ?? []

  test('are those of Activation, with placeholders', () => {
    const filled = samplesNamed('event').map(({ blocks }) => blocks.map(({ code }) => fillSample(code, EXAMPLE_VALUES)))
    expect(filled).toHaveLength(8)
    for (const [code = ''] of filled) expect(code).toMatch(/APP_ID/)
    const signing = samplesNamed('identity').map(({ blocks }) => blocks.map(({ code }) => code.trimEnd()))
    expect(signing.find(([code]) => code === codeOf('node')[1])).toBeDefined()
    expect(signing).toHaveLength(8)
    for (const code of signing) expect(code.join('\n')).toMatch(/SERVICE_IDENTITY_SECRET/)
  })

  test('the environment reaches programs started by the shell', async () => {
    const [shell] = samplesNamed('environment')
    const { out } = await run('curl', `${shell?.blocks[0]?.code}\nenv`)
    expect(out).toMatch(/^SERVICE_API_KEY=mc_\.\.\.$/m)
    expect(out).toMatch(/^SERVICE_IDENTITY_SECRET=\.\.\.$/m)
  })
})

describe('of the API reference', () => {
  const readPages = async () =>
    createApiPages((await server.call('GET', '/api/v1/openapi.json', { key: null })).body as unknown as OpenApi)

  test.each(RUN)(
    'in %s are accepted as written',
    async (id) => {
      const pages = (await readPages()).filter(({ samples }) => (samples.get('request')?.length ?? 0) > 1)
      expect(pages.map(({ title }) => title)).toEqual([
        'Record an event',
        'List events',
        'Record a batch of events',
        'Add a person',
        'Update a person',
        'Find people',
        'Erase a person',
        'Export a person',
        ...OF_DELIVERIES,
        'Send failed emails again',
        'Send an email',
        ...OF_MESSAGES.slice(1),
      ])
      for (const { samples, title } of pages) {
        if ([...OF_DELIVERIES, ...OF_MESSAGES].includes(title) && !RUN_WITH_DELIVERIES.includes(id)) continue
        // the page before erases the person
        if (title === 'Export a person')
          await server.call('POST', CONTACTS, { body: { app: server.first.appId, email: 'ada@example.com' } })
        const [block] = samples.get('request')?.find((one) => one.id === id)?.blocks ?? []
        const filled = fillSample(block?.code ?? '', { base_url: `http://127.0.0.1:${http.port}` })
        const ofApp = filled.replaceAll('APP_ID', server.first.appId)
        const ofEmail = ofApp.includes('dlv_') ? ofApp.replace(/\bdlv_\w+/, await addWaiting()) : ofApp
        const code = OF_MESSAGES.includes(title) ? await ofMessage(ofEmail) : ofEmail
        const { apiKey } = OF_MESSAGES.includes(title) ? await server.makeKey('manage') : server.first
        const { code: status, out, err } = await run(id, code, { SERVICE_API_KEY: apiKey })
        expect([title, status, err]).toEqual([title, 0, ''])
        // the batch of the example has one unknown person
        expect([title, out]).toEqual([title, expect.stringMatching(/['"]?(ok|accepted)['"]?\s*:\s*(true|True|1)/)])
      }
    },
    RUN_MS,
  )

  test('a bounce is signed in the shell', async () => {
    const page = (await readPages()).find(({ slug }) => slug === 'api/report-bounce')
    const code = page?.samples.get('request')?.[0]?.blocks[0]?.code ?? ''
    const printed = `date() { echo 1700000000; }\ncurl() { printf '%s\\n' "$@"; }\n${code}`
    const { out } = await run('curl', printed, { REPORT_SECRET: 'a-secret' })
    const body = out.split('\n').at(-1) ?? ''
    expect(JSON.parse(body)).toMatchObject({ kind: 'bounced' })
    const signature = createHmac('sha256', 'a-secret').update(`1700000000.${body}`).digest('hex')
    expect(out).toContain(`Eventpost-Signature: t=1700000000,v1=${signature}\n`)
  })
})

test('the calls in the browser work as written', () => {
  const user = { email: 'ada@example.com', signature: 'signed' }
  const [, consent] = browserSamples({ plain: '<plain>', consent: '<consent>', pinned: '<pinned>' })
  const [tag, ...calls] = consent?.blocks ?? []
  const called: unknown[][] = []
  const service = (...args: unknown[]) => called.push(args)
  // oxlint-disable-next-line no-implied-eval -- the sample is what runs
  for (const { code } of calls) new Function('service', 'user', code)(service, user)
  expect([tag?.code, called]).toEqual([
    '<consent>',
    [
      ['consent', true],
      ['consent', false],
      ['identify', user],
    ],
  ])
})

test('the environment and the warning use the documented names', () => {
  expect(environmentSample('mc_1', 'is_1')).toBe('export SERVICE_API_KEY=mc_1\nexport SERVICE_IDENTITY_SECRET=is_1')
  for (const word of ['NEXT_PUBLIC_', 'VITE_', 'AI chat']) expect(SECRETS_WARNING).toContain(word)
})
