import { withSql } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readScript, readStub } from '../../src/assets.ts'
import { signEmail } from '../../src/accounts/identity.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { idAt } from '../../src/core/ids.ts'
import { makeSnippetPolicy, makeSnippetTag } from '../../src/visits/snippet-tag.ts'
import {
  type Begun,
  eventpost,
  eventpostJson,
  makeFolder,
  MANY_MS,
  type Running,
  setUp,
  startServer,
} from './process.ts'
import { refused, wrongUse } from './refused.ts'
import { comesTrue } from '../waiting.ts'

const { folder, remove } = makeFolder()
let begun: Begun
let server: Running

beforeAll(async () => {
  begun = await setUp(folder)
  server = await startServer({ data: folder })
}, MANY_MS)
afterAll(async () => {
  await server.stop('SIGKILL')
  remove()
})

const set = (...words: string[]) => eventpost(['app', 'set', begun.appId, '--data', folder, ...words])
const setJson = (...words: string[]) =>
  eventpostJson<Record<string, unknown>>(['app', 'set', begun.appId, '--data', folder, ...words])

const report = () =>
  fetch(`${server.url}/c`, {
    method: 'POST',
    headers: { Origin: 'https://evil.example' },
    body: JSON.stringify({
      v: 1,
      site: begun.siteId,
      email: 'ada@example.com',
      signature: signEmail('ada@example.com', begun.identitySecret),
      id: 'load.1',
      events: [{ type: 'page', path: '/', age: 0 }],
    }),
  })

/** Once the running server notices; writer-thread.test.ts measures how soon. */
async function reportUntil(wanted: number): Promise<number> {
  let status = 0
  await comesTrue(async () => {
    status = (await report()).status
    return status === wanted
  })
  return status
}

describe('app set', () => {
  test(
    'changes only the given settings; a running server notices within a second',
    async () => {
      const domains = ['--domain', 'a.example.com', '--domain', 'B.example.com']
      const named = await setJson(
        '--timezone',
        'Europe/Zurich',
        '--name',
        'Shop',
        ...domains,
        '--home',
        'https://a.example.com/start',
      )
      const expected = {
        appId: begun.appId,
        siteId: begun.siteId,
        name: 'Shop',
        domains: ['a.example.com', 'b.example.com'],
        home: 'https://a.example.com/start',
        timezone: 'Europe/Zurich',
        locale: 'en-US',
        snippetHosts: [],
        snippetAddsPeople: false,
        keepEvents: 'forever',
        keepPageViews: 'forever',
        keepCaptured: 30,
        keepRequests: 7,
        keepResponses: 1,
      }
      expect(named).toEqual(expected)
      expect(await setJson('--locale', 'de-CH')).toEqual({ ...expected, locale: 'de-CH' })
      const kept = await setJson('--locale', 'en-US', '--keep-page-views', '90', '--keep-captured', 'forever')
      expect(kept).toEqual({ ...expected, keepPageViews: 90, keepCaptured: 'forever' })
      const requests = ['--keep-requests', '90', '--keep-responses', '30']
      const without = await setJson('--keep-page-views', 'forever', '--keep-captured', '30', ...requests)
      expect(without).toEqual({ ...expected, keepRequests: 90, keepResponses: 30 })
      expect(await setJson('--keep-requests', 'default', '--keep-responses', 'default')).toEqual(expected)
      expect((await report()).status).toBe(202)
      const snippet = await setJson('--snippet-host', 'a.example.com', '--snippet-adds-people', 'on')
      expect(snippet).toEqual({ ...expected, snippetHosts: ['a.example.com'], snippetAddsPeople: true })
      expect(await reportUntil(403)).toBe(403)
      const open = await setJson('--snippet-host', 'any', '--snippet-adds-people', 'off', '--home', '')
      expect(open).toEqual({ ...expected, home: null })
      expect(await reportUntil(202)).toBe(202)
      const [listed] = await eventpostJson<Record<string, unknown>[]>(['app', 'list', '--data', folder])
      expect(listed).toMatchObject({ name: 'Shop', domains: expected.domains, home: null })
    },
    MANY_MS,
  )

  test(
    'deletes stored data only with --yes, and says what',
    async () => {
      const at = Date.now() - 20 * DAY_MS
      const add = `INSERT INTO captured_mails (delivery_id, app_id, raw, created_at) VALUES (?, 1, '', ?)`
      await withSql(folder, async (sql) => await sql.prepare(add).run(idAt(at), at))
      expect(await set('--keep-captured', '10')).toEqual(
        refused(String.raw`Captured emails before \d+ \w+ \d{4} will be deleted\. Add --yes to delete them\.`),
      )
      expect(await setJson('--keep-events', '30')).toMatchObject({ keepEvents: 30, keepCaptured: 30 })
      const deleted = await setJson('--keep-events', 'forever', '--keep-captured', '10', '--yes')
      expect(deleted).toMatchObject({ keepEvents: 'forever', keepCaptured: 10 })
    },
    MANY_MS,
  )

  test(
    'refuses invalid settings without saving',
    async () => {
      const named = async () => (await eventpost(['app', 'list', '--data', folder])).out
      const before = await named()
      expect(await set()).toEqual(wrongUse('Specify a setting to change'))
      expect(await set('--name', 'x', '--domain', 'https://shop')).toEqual(wrongUse('--domain: .*your own domain'))
      expect(await set('--name', 'x', '--snippet-host', 'com')).toEqual(wrongUse('--snippet-host: '))
      expect(await set('--name', 'x', '--timezone', 'Mars')).toEqual(wrongUse('--timezone: Choose a timezone'))
      expect(await set('--name', 'x', '--locale', 'tlh')).toEqual(wrongUse('--locale: Choose a locale'))
      expect(await set('--name', '')).toEqual(wrongUse('--name: Enter a name of 1 to'))
      expect(await set('--keep-events', '1', '--keep-requests', 'forever', '--yes')).toEqual(
        wrongUse(
          '--keep-events takes a number of days from 7 to 3,650, or forever. --keep-requests takes a number of days from 1 to 90, or default.',
        ),
      )
      expect(await set('--snippet-adds-people', 'yes')).toEqual(wrongUse('takes on or off'))
      expect(await eventpost(['app', 'set', '--data', folder, '--name', 'x'])).toEqual(wrongUse('Specify one app'))
      expect(await eventpost(['app', 'set', 'app_none', '--data', folder, '--name', 'x'])).toEqual(
        refused('no app with this ID'),
      )
      expect(await named()).toBe(before)
    },
    MANY_MS,
  )
})

describe('app tag', () => {
  const words = () => ['app', 'tag', '--app', begun.appId, '--data', folder]
  const tag = () => ({ baseUrl: server.url, siteId: begun.siteId, stub: readStub() })

  test('prints the two lines with the address of the server', async () => {
    expect(await eventpost(words())).toMatchObject({ code: 0, out: `${makeSnippetTag(tag())}\n` })
    const { out } = await eventpost([...words(), '--consent', '--gpc', '--base-url', 'https://post.example.com/'])
    expect(out).toContain('src="https://post.example.com/s.js"')
    expect(out).toContain('data-consent="required" data-gpc="respect"')
  })

  test('explains how page views can add people, if they do not', async () => {
    const change = `eventpost app set ${begun.appId} --snippet-adds-people on`
    for (const more of [[], ['--json']]) {
      const { out, err } = await eventpost([...words(), ...more])
      expect(err).toMatch(new RegExp(`^eventpost: page views of unknown people .*: ${change}\\n$`))
      expect(out).not.toContain('page views')
    }
    await setJson('--snippet-adds-people', 'on')
    expect((await eventpost(words())).err).toBe('')
    await setJson('--snippet-adds-people', 'off')
  })

  test('--json adds the policy sources; --pinned names the served script', async () => {
    const printed = await eventpostJson<Record<string, string>>([...words(), '--pinned'])
    expect(printed).toEqual({
      tag: makeSnippetTag({ ...tag(), pinned: readScript().identity }),
      contentSecurityPolicy: makeSnippetPolicy(tag()),
    })
    const [, src = '', hash = ''] = /src="([^"]+)".* integrity="sha384-([^"]+)"/.exec(printed.tag ?? '') ?? []
    expect(Bun.SHA384.hash(await (await fetch(src)).bytes(), 'base64')).toBe(hash)
  })

  test('refuses an unknown app', async () => {
    expect(await eventpost(['app', 'tag', '--app', 'x', '--data', folder])).toEqual(refused('no app with this ID'))
  })
})
