import { describe, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import { SETTINGS } from '../../src/config.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { eventpost, MANY_MS } from './process.ts'
import { wrongUse } from './refused.ts'

const COMMANDS = {
  serve: ['--data', '--host', '--port', '--base-url', '--trusted-proxies', 'EVENTPOST_METRICS_TOKEN'],
  init: ['--data', '--json', '--email', '--app', '--domain', '--home', '--password-file'],
  'account create': ['--data', '--json', '--email', '--app', '--domain', '--home', '--password-file'],
  'account list': ['--data', '--json'],
  'app create': ['--data', '--account', '--json', '--name', '--domain', '--home'],
  'app list': ['--data', '--account', '--json'],
  'key create': ['--data', '--account', '--json', '--name', '--scope'],
  'key list': ['--data', '--account', '--json'],
  'key revoke': ['--data', '--account', '--json'],
  'secret rotate': ['--data', '--account', '--json'],
  backup: ['--data', '--json'],
  restore: ['--data', '--json', 'EVENTPOST_MASTER_KEY', '--s3-endpoint', 'EVENTPOST_S3_SECRET_KEY'],
  move: ['--to', '--undo', '--data', '--json'],
  'master-key change': ['--data', '--json', '--new-key-file'],
  'master-key remove': ['--data', '--json'],
  'plan show': ['--data', '--account', '--json'],
  'plan set': ['--data', '--account', '--json', '--new-people-per-month', '--events-per-hour', '--snippet-limits'],
  health: ['--data', '--host', '--port'],
  version: ['--data', '--json'],
  licenses: ['--data', '--json'],
}

describe('help', () => {
  test.each([[[]], [['help']], [['--help']], [['-h']]])('%p lists every command', async (words) => {
    const { code, out, err } = await eventpost(words)
    expect([code, err]).toEqual([0, ''])
    for (const name of Object.keys(COMMANDS)) expect(out).toMatch(new RegExp(`^  ${name} .*\\w`, 'm'))
    expect(out).toContain('Exit codes: 0 success, 1 refused, 2 wrong usage.')
  })

  test.each(['account', 'app', 'key', 'secret', 'plan'])(
    '%s alone lists its commands',
    async (word) => {
      for (const words of [[word], [word, '--help'], ['help', word]]) {
        const { code, out, err } = await eventpost(words)
        expect([code, err]).toEqual([0, ''])
        for (const name of Object.keys(COMMANDS)) {
          expect(new RegExp(`^(eventpost)? +?${name}( |$)`, 'm').test(out)).toBe(name.startsWith(`${word} `))
        }
      }
    },
    MANY_MS,
  )

  test('explains sources of settings and scopes of keys', async () => {
    const serve = (await eventpost(['serve', '--help'])).out
    for (const setting of Object.values(SETTINGS)) {
      const { flag, env, value, default: fallback } = setting
      if ('isSecret' in setting && !('isFlagSafe' in setting)) {
        expect(serve).toMatch(new RegExp(`^  ${env} ${value} .*\\(environment variable; or ${env}_FILE\\)$`, 'm'))
        expect(serve).not.toContain(`--${flag}`)
        continue
      }
      const origins = fallback === '' ? env : `default: ${fallback}; ${env}`
      expect(serve).toMatch(new RegExp(`^  --${flag} ${value} .*\\(${origins}\\)$`, 'm'))
    }
    expect((await eventpost(['app', 'set', '--help'])).out.replaceAll(/\s+/g, ' ')).toContain(
      'Days to keep events: 7 to 3,650.',
    )
    expect((await eventpost(['backup', '--help'])).out).toMatch(/Needs no master key.+ S3, set EVENTPOST_BACKUP_TO/)
    const create = (await eventpost(['key', 'create', '--help'])).out
    expect(create).toMatch(
      /--scope SCOPE .*standard \(reads and writes, erases people, and sends emails\), ingest \(only writes\), manage \(.+\)/,
    )
  })

  test(
    'every option names its value in capitals or lists choices',
    async () => {
      const helps = Object.keys(COMMANDS).map((name) => eventpost([...name.split(' '), '--help']))
      for (const { out } of await Promise.all(helps)) {
        for (const [, value] of out.matchAll(/^  --[a-z-]+ (\S+) /gm)) expect(value).toMatch(/^([A-Z]{2,}|on\|off)$/)
      }
    },
    MANY_MS,
  )

  test.each(Object.entries(COMMANDS))('of %s names its options', async (name, options) => {
    const { code, out, err } = await eventpost([...name.split(' '), '--help'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toStartWith(`eventpost ${name}`)
    for (const option of options) expect(out).toMatch(new RegExp(`^  ${option} .*\\w`, 'm'))
  })
})

/** Commands and the options that they need. */
const NEEDED: Record<string, string[]> = {
  init: ['email', 'app'],
  'account create': ['email', 'app'],
  'app create': ['name'],
  'app set': [],
  'app tag': [],
  'key create': ['name'],
  'key list': [],
  'master-key change': ['new-key-file'],
  'member invite': ['email'],
  'message export': [],
  'message import': [],
  backup: [],
  restore: [],
  move: ['to'],
  'master-key remove': [],
  'sender list': [],
  'sender add': [],
  'sender remove': [],
}

test(
  'help marks the options that a command needs',
  async () => {
    for (const [name, needed] of Object.entries(NEEDED)) {
      const { out } = await eventpost([...name.split(' '), '--help'])
      const marked = Array.from(out.matchAll(/^  --(\S+) .*\(required\)$/gm), ([, option]) => option)
      expect([name, marked.sort()]).toEqual([name, needed.toSorted()])
    }
  },
  MANY_MS,
)

test('options of message commands are described like all others', async () => {
  const { out } = await eventpost(['message', 'import', '--help'])
  for (const [, meaning] of out.matchAll(/^  --\S+(?: [A-Z]+| \S+\|\S+)?  +(.+?)(?: \(.+\))?$/gm)) {
    expect(meaning).toMatch(/^[A-Z].+\.$/)
  }
})

const WRONG: [words: string[], says: string][] = [
  [['launch'], 'Unknown command'],
  [['bogus', '--help'], 'Unknown command'],
  [['help', 'bogus'], 'Unknown command'],
  [['ke'], 'Unknown command. Run'],
  [['keys', 'list'], 'Unknown command. Did you mean eventpost key list. Run'],
  [['app', 'lst', '--help'], 'Did you mean eventpost app list'],
  [
    ['master-key', 'change'],
    'No master key is set. Start the server with EVENTPOST_MASTER_KEY to encrypt the secrets.',
  ],
  [['master-key', 'remove'], 'No master key is set.'],
  [['backup'], 'Specify one file: eventpost backup FILE.'],
  [
    ['restore', 'a.db', 'b.db'],
    isOnPostgres ? 'backup files are for the data folder' : 'Specify one file: eventpost restore FILE.',
  ],
  [
    ['restore', 's3://x/backup.db'],
    isOnPostgres
      ? 'backup files are for the data folder'
      : 'FILE takes a backup file, or an address such as s3://bucket/name.db.',
  ],
  [['key', 'destroy'], 'Unknown command'],
  [['serve', '--colour', 'red'], '--colour.*serve --help'],
  [['serve', '--prot', '1'], "Unknown option '--prot'. Did you mean --port. Run eventpost serve --help."],
  [['key', 'list', '--acount=x'], "Unknown option '--acount'. Did you mean --account. Run eventpost key list --help."],
  [['serve', '--unheard', 'of'], "Unknown option '--unheard'. Run eventpost serve --help."],
  [['serve', 'now'], 'now.*serve --help'],
  [['serve', '--port'], '--port.*serve --help'],
  [['serve', '--port', '70000'], '--port takes a number from 0 to 65535'],
  [['serve', '--port', 'http'], '--port takes a number'],
  [['serve', '--base-url', 'post.example.com'], '--base-url takes an address'],
  [['serve', '--base-url', 'ftp://post.example.com'], '--base-url takes an address'],
  [['serve', '--base-url', 'https://example.com/post'], '--base-url takes an address without a path'],
  [['serve', '--metrics-token', 'hush'], 'Set EVENTPOST_METRICS_TOKEN, or set EVENTPOST_METRICS_TOKEN_FILE'],
  [['serve', '--master-key', 'x'.repeat(32)], 'Set EVENTPOST_MASTER_KEY, or set EVENTPOST_MASTER_KEY_FILE'],
  [['serve', '--smtp-url=smtp://a:hush@mail.example.com'], 'Set EVENTPOST_SMTP_URL, or set EVENTPOST_SMTP_URL_FILE'],
  [['serve', '--smtp-url', ''], '--smtp-url is empty'],
  [['serve', '--port', '1', '--port', '2'], '--port is set twice'],
  [['init', '--email', 'a@example.com', '--json', '--app', 'Demo', '--json'], '--json is set twice'],
  [['key', 'list', '--data='], '--data is empty'],
  [['serve', '--trusted-proxies', '10.0.0.0/8,proxy'], '--trusted-proxies takes'],
  [['version', '--json=yes'], '--json'],
  [['init'], '--email is missing'],
  [['init', '--email', 'a@example.com'], '--app is missing'],
  [['init', '--email', 'nobody', '--app', 'Demo'], '--email'],
  [['init', '--email', 'a@example.com', '--app', 'Demo', '--domain', 'not a host'], '--domain'],
  [['init', '--email', 'a@example.com', '--app', 'Demo', '--password-file', '/nowhere'], '--password-file'],
  [['app', 'create'], '--name is missing'],
  [['key', 'create'], '--name is missing'],
  [['key', 'create', '--name', ' '], '--name: Enter a name of 1 to 100 characters'],
  [['key', 'create', '--name', 'n'.repeat(101)], '--name: Enter a name of 1 to 100 characters'],
  [['key', 'create', '--name', 'CI', '--scope', 'all'], '--scope: Choose one of'],
  [['key', 'revoke'], 'key revoke KEY_ID'],
  [['plan', 'set'], 'Specify a limit to change'],
  [['plan', 'set', '--events-per-hour', 'many'], '--events-per-hour takes a number'],
  [['plan', 'set', '--events-per-hour', '-1'], '--events-per-hour takes a number from 1 to'],
  [
    ['plan', 'set', '--events-per-hour', '1000000000'],
    '--events-per-hour takes a number from 1 to 999,999,999, or `default` or `unlimited`.',
  ],
  [['plan', 'set', '--events-per-hour', 'toString'], '--events-per-hour takes a number'],
  [['plan', 'set', '--mcp-calls-per-minute', '0'], '--mcp-calls-per-minute takes a number from 1 to'],
  [['plan', 'set', '--new-people-per-month', '2.5'], '--new-people-per-month takes a number.*unlimited'],
  [['plan', 'set', '--snippet-limits', 'perhaps'], '--snippet-limits takes on or off'],
]

test('it works from any folder', async () => {
  const { code, out, err } = await eventpost([], { cwd: tmpdir() })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('  serve')
})

describe('wrong use', () => {
  test.each(WRONG)('%p', async (words, says) => {
    expect(await eventpost(words, { here: true, env: { EVENTPOST_DATA: '/proc/nowhere' } })).toEqual(wrongUse(says))
  })
})
