/** What `bun run demo` prints, for whoever pastes its tag into a site of their own. */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'

/** It starts an Eventpost of its own, on a machine that has other work. */
const START_MS = 120_000
const LAST = 'unknown people'

async function readUntilLast(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const decoder = new TextDecoder()
  let said = ''
  for await (const chunk of stream) {
    said += decoder.decode(chunk, { stream: true })
    if (said.includes(LAST) && said.endsWith('\n')) break
  }
  return said.trimEnd().split('\n')
}

test(
  'prints the tag, the missing parts and the signing secret',
  async () => {
    const words = [process.execPath, join(import.meta.dir, 'start.ts'), '--port', '0']
    const env = { PATH: process.env.PATH, HOME: process.env.HOME }
    await using demo = Bun.spawn(words, { env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit', timeout: START_MS })
    const lines = await readUntilLast(demo.stdout)
    for (const line of lines) expect(line).toMatch(/^(\S.{18}|.{19})  \S/)
    const said = new Map(lines.map((line) => [line.slice(0, 19).trimEnd(), line.slice(21)]))
    expect(said.get('')).toContain(' data-consent="required"')
    expect(said.get('which sends nothing')).toContain("service('consent', true)")
    expect(said.get(LAST)).toContain('Settings')

    const arrived = new URL(said.get('what arrived') ?? '')
    const [, site] = /data-site="([^"]+)"/.exec(said.get('') ?? '') ?? []
    const email = 'ada@example.com'
    const signature = createHmac('sha256', said.get('its secret') ?? '')
      .update(email)
      .digest('hex')
    const events = [{ type: 'page', path: '/', age: 0 }]
    const report = (more: object) =>
      fetch(new URL('/c', arrived), {
        method: 'POST',
        body: JSON.stringify({ v: 1, site, email, signature, id: '1', events, ...more }),
      })
    expect((await report({})).status).toBe(202)
    expect((await report({ signature: '0'.repeat(64) })).status).toBe(401)
    const [name = '', value = ''] = said.get('with the header')?.split(': ') ?? []
    const kept = await fetch(arrived, { headers: { [name]: value } })
    expect(await kept.json()).toEqual({ ok: true, data: [], nextCursor: null })
    demo.kill('SIGTERM')
    expect(await demo.exited).toBe(0)
  },
  START_MS,
)
