import { withSql } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, eventpost, eventpostJson, makeFolder, prepareData, type Running, startServer } from './process.ts'
import { refused, wrongUse } from './refused.ts'
import { cookieOf, openLink, postForm, turnOnTwoStep } from './signing-in.ts'

const { folder, remove } = makeFolder()
const data = join(folder, 'data')
const [OLD, NEW] = ['correct horse battery', 'four dull wooden spoons']
let server: Running

beforeAll(async () => {
  const file = join(folder, 'password')
  writeFileSync(file, OLD)
  const words = ['--email', 'owner@example.com', '--app', 'Demo', '--password-file', file]
  await prepareData(data)
  await eventpostJson<Begun>(['init', '--data', data, ...words])
  server = await startServer({ data })
})
afterAll(async () => {
  await server.stop()
  remove()
})

const CREATE = ['account', 'create', '--data', data]
const post = (path: string, fields: Record<string, string>) => postForm(server.url, path, fields)
const signIn = async (email: string, password: string) => (await post('/sign-in', { email, password })).status
const tokenOf = (url: string): string => new URL(url).searchParams.get('token') ?? ''

describe('member invite', () => {
  test('prints a link of the running server to choose a password and sign in', async () => {
    const words = ['member', 'invite', '--data', data, '--email', ' Eve@Example.com ', '--base-url', server.url]
    const made = await eventpostJson<{ memberId: string; signInUrl: string }>(words)
    expect(made).toEqual({
      memberId: expect.stringMatching(/^mem_\w{21}$/),
      signInUrl: expect.stringMatching(new RegExp(`^${server.url}/password\\?token=\\w{43}$`)),
    })
    expect((await post('/password', { token: tokenOf(made.signInUrl), password: NEW })).status).toBe(303)
    expect(await signIn('eve@example.com', NEW)).toBe(303)
  })

  test.each([
    [['--email', 'owner@example.com'], refused('member of this account already has this email')],
    [['--email', 'x'], wrongUse('--email takes one email address')],
    [[], wrongUse('--email is missing')],
    [['--email', 'a@example.com', '--role', 'king'], wrongUse('--role takes one of owner, editor, viewer')],
    [['--email', 'a@example.com', '--account', 'acc_none'], refused('no account with this ID')],
  ])('refuses %p', async (words, expected) => {
    expect(await eventpost(['member', 'invite', '--data', data, ...words])).toEqual(expected)
  })
})

describe('member reset-password', () => {
  test('prints a link that sets a new password and ends all sessions', async () => {
    const signedIn = await post('/sign-in', { email: 'owner@example.com', password: OLD })
    const cookie = cookieOf(signedIn)
    const home = async () =>
      (await fetch(`${server.url}/`, { headers: { cookie }, redirect: 'manual' })).headers.get('location')
    expect(await home()).toStartWith('/apps/')
    const words = ['member', 'reset-password', '--data', data, '--email', 'owner@example.com']
    const { signInUrl } = await eventpostJson<{ signInUrl: string }>(words)
    expect(signInUrl).toStartWith(`${server.url}/password?token=`)
    expect(await signIn('owner@example.com', OLD)).toBe(303)
    expect((await post('/password', { token: tokenOf(signInUrl), password: NEW })).status).toBe(303)
    expect(await home()).toBe('/sign-in')
    expect([await signIn('owner@example.com', OLD), await signIn('owner@example.com', NEW)]).toEqual([400, 303])
  })

  test('leaves the second step on, or turns it off when the link is used', async () => {
    const email = 'owner@example.com'
    expect((await turnOnTwoStep(server.url, { email, password: NEW })).status).toBe(200)

    const words = ['member', 'reset-password', '--data', data, '--email', email]
    const next = async (more: string[]) => {
      const { signInUrl } = await eventpostJson<{ signInUrl: string }>([...words, ...more])
      const signIn = async () => (await post('/sign-in', { email, password: NEW })).headers.get('location')
      const before = await signIn()
      expect((await post('/password', { token: tokenOf(signInUrl), password: NEW })).status).toBe(303)
      return [before, await signIn()]
    }
    const asked = '/sign-in/code?next='
    expect(await next([])).toEqual([asked, asked])
    expect(await next(['--two-step-off'])).toEqual([asked, '/'])
  })

  test('accepts members only', async () => {
    const words = ['member', 'reset-password', '--data', data, '--email', 'nobody@example.com']
    expect(await eventpost(words)).toEqual(refused('There is no member with this email'))
  })
})

describe('member invite, for another account', () => {
  test('prints an ID that does not reveal other accounts', async () => {
    const other = await eventpostJson<Begun>([...CREATE, '--email', 'zoe@example.com', '--app', 'Zoe'])
    const idIn = async (accountId: string) => {
      const words = ['member', 'invite', '--data', data, '--account', accountId, '--email', 'kim@example.com']
      return (await eventpostJson<{ memberId: string }>(words)).memberId
    }
    const first =
      (await eventpostJson<{ accountId: string }[]>(['account', 'list', '--data', data]))[0]?.accountId ?? ''
    const ids = [await idIn(first), await idIn(other.accountId), await idIn(first)]
    expect([ids[0] === ids[2], new Set(ids).size]).toEqual([true, 2])
    const text = `SELECT id FROM members WHERE email = 'kim@example.com'`
    const person = await withSql(data, async (sql) => (await sql.prepare<{ id: string }>(text).get())?.id)
    expect([person, ids.includes(String(person))]).toEqual([expect.stringMatching(/^mem_/), false])
  })

  test('prints another link for the only owner whose link expired', async () => {
    const begun = await eventpostJson<Begun>([...CREATE, '--email', 'bob@example.com', '--app', 'Bob'])
    const words = ['member', 'invite', '--data', data, '--account', begun.accountId, '--email', 'bob@example.com']
    expect(await eventpost([...words, '--role', 'viewer'])).toEqual(refused('An account needs an owner'))
    const { signInUrl } = await eventpostJson<{ signInUrl: string }>(words)
    const open = async (url: string) => (await openLink(url)).status
    expect([await open(begun.signInUrl), await open(signInUrl)]).toEqual([404, 200])
    expect(await (await openLink(signInUrl)).text()).toContain("You're its owner.")
  })
})
