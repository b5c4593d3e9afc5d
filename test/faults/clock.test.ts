/** The machine's clock jumps a day ahead and a day back under a running server. */
import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, call, eventpostJson, makeFolder, MANY_MS, startServer } from '../cli/process.ts'
import { cookieOf, postForm } from '../cli/signing-in.ts'
import { report, reportNotRun } from './figures.ts'

const EVENTS_PER_HOUR = 20
const DAY_S = 86_400
const STEPS = [DAY_S, 0, -DAY_S, 0, 2 * DAY_S, -2 * DAY_S]
/** The writer looks at the clock several times meanwhile. */
const LOOKS_MS = 450

/** What the command puts in front of every program; null where it is not installed. */
function findLibrary(): string | null {
  if (Bun.which('faketime') === null) return null
  const { stdout } = Bun.spawnSync(['faketime', '-m', '-f', '+0', 'printenv', 'LD_PRELOAD'])
  return stdout.toString().trim().replaceAll("'", '') || null
}
const library = findLibrary()
if (library === null) reportNotRun('Clock steps of a day, both ways', 'faketime is missing')

const { folder, remove } = makeFolder()
afterAll(remove)

describe.skipIf(library === null)('steps of the clock', () => {
  test(
    'give no tokens, end nothing early and break nothing',
    async () => {
      const data = join(folder, 'data')
      const form = { email: 'owner@example.com', password: 'correct horse battery' }
      writeFileSync(join(folder, 'password'), form.password)
      const words = ['--email', form.email, '--app', 'Demo', '--password-file', join(folder, 'password')]
      const { apiKey, appId } = await eventpostJson<Begun>(['init', '--data', data, ...words])
      await eventpostJson(['plan', 'set', '--data', data, '--events-per-hour', String(EVENTS_PER_HOUR)])
      const offset = join(folder, 'offset')
      const setClock = (seconds: number): void => writeFileSync(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`)
      setClock(0)
      const env = {
        LD_PRELOAD: library ?? '',
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }
      const server = await startServer({ data, env })
      const cookie = cookieOf(await postForm(server.url, '/sign-in', form))
      const post = async (number: number, key: string): Promise<{ status: number; isReplayed: boolean }> => {
        const event = { app: appId, email: `p${number}@example.com`, event: 'e', createContact: true }
        const sent = await fetch(`${server.url}/api/v1/events`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
          body: JSON.stringify(event),
        })
        await sent.text()
        return { status: sent.status, isReplayed: sent.headers.get('idempotency-replayed') === 'true' }
      }
      const isSignedIn = async (): Promise<boolean> => {
        const page = await fetch(server.url, { headers: { cookie }, redirect: 'manual' })
        return /overview|activation/.test(page.headers.get('location') ?? '') || page.status === 200
      }
      const first = []
      for (let number = 0; number < EVENTS_PER_HOUR; number += 1) first.push((await post(number, `k${number}`)).status)

      const wrong: string[] = []
      const note = (isRight: boolean, what: string): void => void (isRight || wrong.push(what))
      note(await isSignedIn(), 'not signed in')
      for (const [index, seconds] of STEPS.entries()) {
        setClock(seconds)
        await Bun.sleep(LOOKS_MS)
        const after = `after a step to ${seconds} s`
        note((await post(100 + index, `new${index}`)).status === 429, `a free token ${after}`)
        note((await post(0, 'k0')).isReplayed, `an idempotency key ended ${after}`)
        note(await isSignedIn(), `a session ended ${after}`)
        note((await call(server.url, apiKey, 'GET', `/api/v1/events?app=${appId}`)).status === 200, `no reads ${after}`)
        note((await fetch(`${server.url}/readyz`)).status === 200, `not ready ${after}`)
      }
      const { code } = await server.stop()
      const farthest = new Date(Date.now() + 2 * DAY_S * 1_000).toISOString().slice(0, 10)
      note(server.said.out.includes(`"time":"${farthest}`), 'the clock of the server did not jump')
      note(code === 0 && !server.said.out.includes('"level":"error"'), `exit ${code}`)
      report({
        target: 'Clock steps of a day, both ways',
        asked: 'no free token, nothing ends early, no crash',
        measured: wrong.join('; ') || `none in ${STEPS.length} steps`,
        isReached: wrong.length === 0,
      })
      expect(first).toEqual(Array(EVENTS_PER_HOUR).fill(202))
      expect(wrong).toEqual([])
    },
    MANY_MS,
  )
})
