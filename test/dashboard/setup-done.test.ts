import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createSetupToken } from '../../src/core/accounts.ts'
import { openPages, type Pages, textOf } from './pages.ts'

const FIELDS = { email: 'ada@example.com', password: 'correct horse battery', app: 'Ada', domain: 'app.example.com' }

let pages: Pages

beforeEach(async () => {
  pages = await openPages()
})
afterEach(() => pages.close())

async function setUp(fields: Partial<typeof FIELDS> = {}): Promise<Response> {
  const token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
  return pages.post('/setup', { token, ...FIELDS, ...fields })
}

describe('the page that follows', () => {
  test('shows the four values, the environment and a command, and the key works', async () => {
    const response = await setUp({ email: ' Ada@Example.com ' })
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(await textOf(html, 'dt')).toEqual(['App ID', 'Site ID', 'API key', 'Identity secret'])
    const [appId, siteId, apiKey, identitySecret] = await textOf(html, 'dd code')
    const access = await pages.access.find(apiKey ?? null)
    expect(access?.apps).toMatchObject([{ publicId: appId, siteId, name: 'Ada', hosts: ['app.example.com'] }])
    expect(access?.apps[0]?.homeUrl).toBe('https://app.example.com')
    const [environment, command] = await textOf(html, 'pre')
    expect(environment).toBe(`SERVICE_API_KEY=${apiKey}\nSERVICE_IDENTITY_SECRET=${identitySecret}`)
    const words = runAsShell(command ?? '')
    expect(words.slice(0, -1)).toEqual([
      'http://localhost:8080/api/v1/events',
      '-H',
      `Authorization: Bearer ${apiKey}`,
      '-H',
      'Content-Type: application/json',
      '-d',
    ])
    expect(JSON.parse(words.at(-1) ?? '')).toEqual({
      app: appId,
      email: 'ada@example.com',
      event: 'results_ready',
      createContact: true,
      properties: { url: 'https://app.example.com/results/1', headline: 'Your results are ready.' },
    })
    expect(html).not.toContain(FIELDS.password)
  })

  test('without a domain the command links to example.com, on localhost without https', async () => {
    const html = await (await setUp({ domain: '' })).text()
    expect((await textOf(html, 'pre'))[1]).toContain('"url": "https://example.com/results/1"')
    await pages.close()
    pages = await openPages()
    const local = await (await setUp({ domain: 'localhost' })).text()
    expect((await textOf(local, 'pre'))[1]).toContain('"url": "http://localhost/results/1"')
  })

  test('an apostrophe in the email does not end the quotes of the curl command', async () => {
    const html = await (await setUp({ email: "a'`id`'b@example.com" })).text()
    const sent = runAsShell((await textOf(html, 'pre'))[1] ?? '')
    expect(JSON.parse(sent.at(-1) ?? '').email).toBe("a'`id`'b@example.com")
  })
})

/** The words that a shell makes of the command, without `curl`. */
function runAsShell(command: string): string[] {
  expect(command).toStartWith('curl ')
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${command}`
  const { stdout } = Bun.spawnSync(['sh', '-c', script])
  return stdout.toString().split('\0').slice(0, -1)
}
