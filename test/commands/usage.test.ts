/** What the command line does with words it does not know, and how it helps. */
import { describe, expect, test } from 'bun:test'
import { eventpost } from './process.ts'
import { wrongUse } from './refused.ts'

const COMMANDS = {
  serve: ['--data', '--host', '--port', '--base-url', '--trusted-proxies', '--metrics-token'],
  init: ['--data', '--json', '--email', '--app', '--domain', '--home', '--password-file'],
  'account create': ['--data', '--json', '--email', '--app', '--domain', '--home', '--password-file'],
  'app create': ['--data', '--account', '--json', '--name', '--domain', '--home'],
  'key create': ['--data', '--account', '--json', '--name', '--scope'],
  'key list': ['--data', '--account', '--json'],
  'key revoke': ['--data', '--account', '--json'],
  'secret rotate': ['--data', '--account', '--json'],
  'plan set': ['--data', '--account', '--json', '--new-people-per-month', '--events-per-hour', '--snippet-limits'],
  version: ['--json'],
}

describe('help', () => {
  test.each([[[]], [['help']], [['--help']], [['-h']]])('%p lists every command', async (words) => {
    const { code, out, err } = await eventpost(words)
    expect([code, err]).toEqual([0, ''])
    for (const name of Object.keys(COMMANDS)) expect(out).toMatch(new RegExp(`^  ${name} .*\\w`, 'm'))
    expect(out).toContain('Exit: 0 done, 1 refused, 2 wrong use.')
  })

  test.each(Object.entries(COMMANDS))('of %s names its options', async (name, options) => {
    const { code, out, err } = await eventpost([...name.split(' '), '--help'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toStartWith(`eventpost ${name}`)
    for (const option of options) expect(out).toMatch(new RegExp(`^  ${option} .*\\w`, 'm'))
  })
})

const WRONG: [words: string[], says: string][] = [
  [['launch'], 'no such command'],
  [['key'], 'no such command'],
  [['key', 'destroy'], 'no such command'],
  [['serve', '--colour', 'red'], '--colour.*serve --help'],
  [['serve', 'now'], 'now.*serve --help'],
  [['serve', '--port'], '--port.*serve --help'],
  [['serve', '--port', '70000'], '--port takes a number from 0 to 65535'],
  [['serve', '--port', 'http'], '--port takes a number'],
  [['serve', '--base-url', 'post.example.com'], '--base-url takes an address'],
  [['serve', '--base-url', 'ftp://post.example.com'], '--base-url takes an address'],
  [['serve', '--trusted-proxies', '10.0.0.0/8,proxy'], '--trusted-proxies takes'],
  [['version', '--json=yes'], '--json'],
  [['init'], '--email is missing'],
  [['init', '--email', 'a@example.com'], '--app is missing'],
  [['init', '--email', 'nobody', '--app', 'Demo'], '--email'],
  [['init', '--email', 'a@example.com', '--app', 'Demo', '--domain', 'not a host'], '--domain'],
  [['init', '--email', 'a@example.com', '--app', 'Demo', '--password-file', '/nowhere'], '--password-file'],
  [['app', 'create'], '--name is missing'],
  [['key', 'create'], '--name is missing'],
  [['key', 'create', '--name', ' '], '--name: Give a name of 1 to 100 characters'],
  [['key', 'create', '--name', 'n'.repeat(101)], '--name: Give a name of 1 to 100 characters'],
  [['key', 'create', '--name', 'CI', '--scope', 'all'], '--scope: Choose one of'],
  [['key', 'revoke'], 'key revoke KEYID'],
  [['plan', 'set'], 'Say what to set'],
  [['plan', 'set', '--events-per-hour', 'many'], '--events-per-hour takes a number'],
  [['plan', 'set', '--events-per-hour', '-1'], '--events-per-hour'],
  [['plan', 'set', '--new-people-per-month', '2.5'], '--new-people-per-month takes a number.*unlimited'],
  [['plan', 'set', '--snippet-limits', 'perhaps'], '--snippet-limits takes on or off'],
]

describe('wrong use', () => {
  test.each(WRONG)('%p', async (words, says) => {
    expect(await eventpost(words, { env: { EVENTPOST_DATA: '/proc/nowhere' } })).toEqual(wrongUse(says))
  })
})
