/** What others make of openapi.json: a linter, and typed clients. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXAMPLES } from '../../src/api/examples.ts'
import { API, createTestServer } from '../helper.ts'

const ROOT = join(import.meta.dir, '../..')
/** Each is a process that reads a large program first. */
const TOOL_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'openapi-'))
const file = (name: string): string => join(folder, name)
beforeAll(async () => {
  const server = await createTestServer()
  const { body } = await server.call('GET', `${API}/openapi.json`, { key: null })
  await server.close()
  // the linter takes the address of a test server for one that was forgotten
  await Bun.write(file('openapi.json'), JSON.stringify({ ...body, servers: [{ url: 'https://eventpost.dev' }] }))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(tool: string, args: string[]): Promise<{ code: number; said: string }> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const words = [process.execPath, 'x', '--bun', tool, ...args]
  const child = Bun.spawn(words, { cwd: ROOT, env, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, said: out + err }
}

test(
  'the recommended rules of Redocly find nothing',
  async () => {
    const { code, said } = await run('redocly', [
      'lint',
      '--extends=recommended',
      '--format=json',
      file('openapi.json'),
    ])
    expect([code, /"problems": \[[^\]]*\]/.exec(said)?.[0]]).toEqual([0, '"problems": []'])
  },
  TOOL_MS,
)

/** Every example, sent and answered, by the names and types that openapi-typescript makes. */
const CALLS: [example: keyof typeof EXAMPLES, path: string, method: string, status: number][] = [
  ['postEvent', '/api/v1/events', 'post', 202],
  ['getEvents', '/api/v1/events', 'get', 200],
  ['postBatch', '/api/v1/events/batch', 'post', 207],
  ['postContact', '/api/v1/contacts', 'post', 201],
  ['patchContact', '/api/v1/contacts', 'patch', 200],
  ['getContacts', '/api/v1/contacts', 'get', 200],
  ['exportContact', '/api/v1/contacts/export', 'get', 200],
  ['deleteContact', '/api/v1/contacts', 'delete', 200],
  ['postSend', '/api/v1/send', 'post', 202],
  ['getDeliveries', '/api/v1/deliveries', 'get', 200],
  ['getDelivery', '/api/v1/deliveries/{delivery}', 'get', 200],
  ['cancelDelivery', '/api/v1/deliveries/cancel', 'post', 200],
  ['sendDelivery', '/api/v1/deliveries/send-now', 'post', 200],
  ['resendFailed', '/api/v1/deliveries/resend-failed', 'post', 200],
  ['getMessages', '/api/v1/messages', 'get', 200],
  ['postMessage', '/api/v1/messages', 'post', 201],
  ['getMessage', '/api/v1/messages/{message}', 'get', 200],
  ['previewMessage', '/api/v1/messages/{message}/preview', 'get', 200],
  ['simulateMessage', '/api/v1/messages/{message}/simulation', 'get', 200],
  ['explainMessage', '/api/v1/messages/{message}/explanation', 'get', 200],
  ['postStatus', '/api/v1/messages/status', 'post', 200],
  ['postTest', '/api/v1/messages/test', 'post', 200],
  ['postVisit', '/c', 'post', 202],
  ['postBounce', '/hooks/bounces/{app}', 'post', 202],
]

const toCode = ([name, path, method, status]: (typeof CALLS)[number]): string => {
  const call = `paths['${path}']['${method}']`
  const { send, answer } = EXAMPLES[name]
  const query = {
    ...send,
    ...('limit' in send ? { limit: Number(send.limit) } : {}),
    ...('days' in send ? { days: Number(send.days) } : {}),
  }
  const sent =
    method === 'get'
      ? `NonNullable<${call}['parameters']['query']> = ${JSON.stringify(query)}`
      : `NonNullable<${call}['requestBody']>['content']['application/json'] = ${JSON.stringify(send)}`
  const answered = `${call}['responses'][${status}]['content']['application/json'] = ${JSON.stringify(answer)}`
  return `export const ${name}Sent: ${sent}\nexport const ${name}Answered: ${answered}\n`
}

/** Without the libraries of browsers, whose check takes most of the time. */
const LIBRARY = ['--target', 'es2022', '--lib', 'es2022']
const FLAGS = ['--noEmit', '--strict', ...LIBRARY, '--module', 'esnext', '--moduleResolution', 'bundler']

test(
  'typed clients accept every example and no invalid one',
  async () => {
    expect(await run('openapi-typescript', [file('openapi.json'), '-o', file('api.d.ts')])).toMatchObject({ code: 0 })
    const code = [
      `import type { paths, components } from './api'`,
      ...CALLS.map(toCode),
      `export const email = ({ email }: components['schemas']['Contact']): string => email`,
      `// @ts-expect-error a person without an email`,
      `export const nobody: components['schemas']['EventInput'] = { event: 'x' }`,
    ]
    await Bun.write(file('client.ts'), code.join('\n'))
    expect(await run('tsc', [...FLAGS, '--ignoreConfig', file('client.ts')])).toEqual({ code: 0, said: '' })
  },
  TOOL_MS,
)
