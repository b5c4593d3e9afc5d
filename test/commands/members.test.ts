import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, eventpost, eventpostJson, makeFolder, type Running, startServer } from './process.ts'
import { refused, wrongUse } from './refused.ts'

const { folder, remove } = makeFolder()
const data = join(folder, 'data')
const [OLD, NEW] = ['correct horse battery', 'four dull wooden spoons']
let server: Running

beforeAll(async () => {
  const file = join(folder, 'password')
  writeFileSync(file, OLD)
  const words = ['--email', 'owner@example.com', '--app', 'Demo', '--password-file', file]
  await eventpostJson<Begun>(['init', '--data', data, ...words])
  server = await startServer({ data })
})
afterAll(async () => {
  await server.stop()
  remove()
})

const post = (path: string, fields: Record<string, string>) =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'Sec-Fetch-Site': 'same-origin' },
    body: new URLSearchParams(fields),
    redirect: 'manual',
  })
const signIn = async (email: string, password: string) => (await post('/sign-in', { email, password })).status
const tokenOf = (url: string): string => new URL(url).searchParams.get('token') ?? ''

describe('member invite', () => {
  test('prints a link of the running server, by which the member chooses a password and gets in', async () => {
    const words = ['member', 'invite', '--data', data, '--email', ' Eve@Example.com ', '--base-url', server.url]
    const made = await eventpostJson<{ memberId: string; signInUrl: string }>(words)
    expect(made).toEqual({
      memberId: expect.stringMatching(/^mem_\w{21}$/),
      signInUrl: expect.stringMatching(new RegExp(`^${server.url}/password\\?token=\\w{43}$`)),
    })
    expect((await post('/password', { token: tokenOf(made.signInUrl), password: NEW })).status).toBe(200)
    expect(await signIn('eve@example.com', NEW)).toBe(303)
  })

  test.each([
    [['--email', 'owner@example.com'], refused('member of this account has this email already')],
    [['--email', 'x'], wrongUse('--email takes one plain email address')],
    [[], wrongUse('--email is missing')],
    [['--email', 'a@example.com', '--role', 'king'], wrongUse('--role takes one of owner, editor, viewer')],
    [['--email', 'a@example.com', '--account', 'acc_none'], refused('no account with this ID')],
  ])('%p is refused', async (words, expected) => {
    expect(await eventpost(['member', 'invite', '--data', data, ...words])).toEqual(expected)
  })
})

describe('member reset-password', () => {
  test('prints a link that sets a new password and ends all sessions', async () => {
    const signedIn = await post('/sign-in', { email: 'owner@example.com', password: OLD })
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const home = async () =>
      (await fetch(`${server.url}/`, { headers: { cookie }, redirect: 'manual' })).headers.get('location')
    expect(await home()).toStartWith('/apps/')
    const words = ['member', 'reset-password', '--data', data, '--email', 'owner@example.com']
    const { signInUrl } = await eventpostJson<{ signInUrl: string }>(words)
    expect(signInUrl).toStartWith(`${server.url}/password?token=`)
    expect(await signIn('owner@example.com', OLD)).toBe(303)
    expect((await post('/password', { token: tokenOf(signInUrl), password: NEW })).status).toBe(200)
    expect(await home()).toBe('/sign-in')
    expect([await signIn('owner@example.com', OLD), await signIn('owner@example.com', NEW)]).toEqual([400, 303])
  })

  test('knows members only', async () => {
    const words = ['member', 'reset-password', '--data', data, '--email', 'nobody@example.com']
    expect(await eventpost(words)).toEqual(refused('There is no member with this email'))
  })
})
