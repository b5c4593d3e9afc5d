/** Runs every sample as a file, if its language is installed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signEmail } from '../../src/accounts/identity.ts'
import {
  browserSamples,
  environmentSample,
  EXAMPLE_SAMPLES,
  fillSample,
  SECRETS_WARNING,
  serverSamples,
} from '../../src/docs/samples.ts'
import { createTestServer, type TestServer } from '../helper.ts'

const EMAIL = '  Ada@Example.com '
const SIGNED = `'${EMAIL}'`
/** Compiling Go for the first time takes longest. */
const RUN_MS = 60_000

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
let http: ReturnType<typeof Bun.serve>
const folder = mkdtempSync(join(tmpdir(), 'eventpost-code-'))

beforeAll(async () => {
  server = await createTestServer()
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

const isHere = (id: string): boolean => Bun.which(HOW[id]?.run('')[0] ?? '') !== null || id === 'bun' || id === 'nextjs'
const HERE = Object.keys(HOW).filter(isHere)

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

describe.each(HERE)('%s', (id) => {
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
        properties: { url: 'https://first.example/results/1', headline: 'Your results are ready.' },
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
    const quick = HERE.filter((id) => id !== 'go')
    const runs = quick.map(async (id) => {
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
  const runExample = (name: string) => {
    const code = fillSample(EXAMPLE_SAMPLES.get(name) ?? '', { base_url: `http://127.0.0.1:${http.port}` })
    return run('curl', code.replaceAll('APP_ID', server.first.appId).replaceAll('curl ', 'curl -sS '))
  }

  test('the first event is accepted and read back', async () => {
    const { code, out } = await runExample('first-event')
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ ok: true })])
    const { data } = JSON.parse((await runExample('read-events')).out)
    expect(data[0]).toMatchObject({ event: 'results_ready', properties: { url: 'https://app.example.com/results/1' } })
  })

  test('the environment reaches programs started by the shell', async () => {
    const { out } = await run('curl', `${EXAMPLE_SAMPLES.get('environment')}\nenv`)
    expect(out).toMatch(/^SERVICE_API_KEY=mc_\.\.\.$/m)
    expect(out).toMatch(/^SERVICE_IDENTITY_SECRET=\.\.\.$/m)
  })

  test('the signature equals that of Node', () => {
    expect(EXAMPLE_SAMPLES.get('identity.mjs')).toBe(codeOf('node')[1])
  })
})

test('the calls in the browser work as written', () => {
  const user = { email: 'ada@example.com', signature: 'signed' }
  const [, consent] = browserSamples({ plain: '<plain>', consent: '<consent>', pinned: '<pinned>' })
  const [tag, ...calls] = consent?.blocks ?? []
  const called: unknown[][] = []
  const service = (...args: unknown[]) => called.push(args)
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
