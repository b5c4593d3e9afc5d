import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addressOf, findUnknownSettings, readConfig, SETTINGS, UsageError } from '../src/config.ts'
import { MAIL_URL_MESSAGE } from '../src/core/mail-apis.ts'

let folder = ''
let file = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventpost-config-'))
  file = join(folder, 'token')
  writeFileSync(file, 'from the file\r\nnot this\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('readConfig', () => {
  test('has a default for everything', () => {
    expect(readConfig({}, {})).toEqual({
      data: './data',
      database: null,
      host: '127.0.0.1',
      port: 8080,
      masterKey: null,
      baseUrl: null,
      trustedProxies: [],
      mcpOrigins: [],
      metricsToken: null,
      smtpUrl: null,
      mailFrom: null,
      mailPrivateHosts: { names: new Set(), ranges: [] },
      stopMailMs: 60_000,
      alertSmtpUrl: null,
      alertWebhook: null,
      backups: null,
      hasExternalCheckpoints: false,
    })
  })

  test('scheduled backups go to a folder or to a bucket with keys', () => {
    const daily = { everyMs: 24 * 3_600_000, keep: 14 }
    expect(readConfig({ 'backup-to': '/mnt/backups' }, {}).backups).toEqual({
      place: { folder: '/mnt/backups' },
      access: null,
      ...daily,
    })
    const keys = { EVENTPOST_S3_ACCESS_KEY: 'id', EVENTPOST_S3_SECRET_KEY: 'hush' }
    const bucket = {
      ...keys,
      EVENTPOST_BACKUP_TO: 's3://b-1/eventpost/',
      EVENTPOST_S3_ENDPOINT: 'http://127.0.0.1:9000',
    }
    expect(readConfig({ 'backup-hours': '6', 'backup-keep': '3' }, bucket).backups).toEqual({
      place: { bucket: 'b-1', prefix: 'eventpost/' },
      access: { endpoint: 'http://127.0.0.1:9000', region: 'us-east-1', accessKey: 'id', secretKey: 'hush' },
      everyMs: 6 * 3_600_000,
      keep: 3,
    })
  })

  test('numbers are taken as the messages write them', () => {
    const { backups } = readConfig({}, { EVENTPOST_BACKUP_TO: '/b', EVENTPOST_BACKUP_KEEP: '1,000' })
    expect(backups?.keep).toBe(1_000)
  })

  test.each([
    [{ EVENTPOST_BACKUP_TO: 's3://B' }, 'EVENTPOST_BACKUP_TO takes a folder'],
    [{ EVENTPOST_BACKUP_TO: 'https://b/c' }, 'EVENTPOST_BACKUP_TO takes a folder'],
    [{ EVENTPOST_BACKUP_TO: 's3://b-1' }, 'EVENTPOST_S3_ACCESS_KEY'],
    [{ EVENTPOST_BACKUP_TO: '/b', EVENTPOST_BACKUP_HOURS: '0' }, 'EVENTPOST_BACKUP_HOURS takes a number from 1 to 720'],
    [
      { EVENTPOST_BACKUP_TO: '/b', EVENTPOST_BACKUP_KEEP: '1.5' },
      'EVENTPOST_BACKUP_KEEP takes a number from 1 to 1,000',
    ],
    [{ EVENTPOST_CHECKPOINTS: 'litestream' }, 'EVENTPOST_CHECKPOINTS takes own or external'],
  ])('wrong settings of backups are refused: %o', (env, message) => {
    expect(() => readConfig({}, env)).toThrow(message)
  })

  test('the data is in PostgreSQL if an address of it is given', () => {
    const url = 'postgres://user:password@db.example.com/eventpost'
    const database = { url, connections: 10, prepares: true }
    expect(readConfig({}, { EVENTPOST_DATABASE_URL: url }).database).toEqual(database)
    const pooled = { EVENTPOST_DATABASE_CONNECTIONS: '25', EVENTPOST_DATABASE_POOLER: 'transaction' }
    expect(readConfig({}, { EVENTPOST_DATABASE_URL: url, ...pooled }).database).toEqual({
      url,
      connections: 25,
      prepares: false,
    })
    expect(() => readConfig({ 'database-url': url }, {})).toThrow('would show the secret')
    expect(readConfig({ 'database-url': 'postgresql://localhost/eventpost' }, {}).database).not.toBeNull()
  })

  const URL_GIVEN = { EVENTPOST_DATABASE_URL: 'postgres://localhost/eventpost' }
  test.each([
    [{ EVENTPOST_DATABASE_URL: 'mysql://localhost/eventpost' }, 'EVENTPOST_DATABASE_URL takes an address'],
    [{ EVENTPOST_DATABASE_URL: 'postgres://localhost' }, 'with a database name'],
    ...['p@ss/word', '1/2?x', '1/2#x', '1%zz', 'a#b'].map(
      (password) =>
        [
          { EVENTPOST_DATABASE_URL: `postgres://u:${password}@db.example.com:5432/eventpost` },
          '@ is %40, / is %2F',
        ] as const,
    ),
    [
      { ...URL_GIVEN, EVENTPOST_DATABASE_CONNECTIONS: '1' },
      'EVENTPOST_DATABASE_CONNECTIONS takes a number from 2 to 100',
    ],
    [{ ...URL_GIVEN, EVENTPOST_DATABASE_POOLER: 'session' }, 'EVENTPOST_DATABASE_POOLER takes none or transaction'],
    [{ ...URL_GIVEN, EVENTPOST_BACKUP_TO: '/b' }, 'pg_dump'],
    [{ ...URL_GIVEN, EVENTPOST_CHECKPOINTS: 'external' }, 'EVENTPOST_CHECKPOINTS is for the data folder'],
  ])('wrong settings of the database are refused: %o', (env, message) => {
    expect(() => readConfig({}, env)).toThrow(message)
  })

  test('flags override the environment, then a file, then the default', () => {
    const env = { EVENTPOST_METRICS_TOKEN_FILE: file, EVENTPOST_SMTP_URL: 'smtp://environment.example' }
    expect(readConfig({}, env).metricsToken).toBe('from the file')
    const both = { ...env, EVENTPOST_METRICS_TOKEN: 'from the environment' }
    expect(readConfig({}, both).metricsToken).toBe('from the environment')
    expect(readConfig({}, env).smtpUrl).toBe('smtp://environment.example')
    expect(readConfig({ 'smtp-url': 'smtp://flag.example:25' }, env).smtpUrl).toBe('smtp://flag.example:25')
  })

  test.each([
    ['master-key', 'EVENTPOST_MASTER_KEY', 'x'.repeat(32)],
    ['master-key', 'EVENTPOST_MASTER_KEY', ''],
    ['metrics-token', 'EVENTPOST_METRICS_TOKEN', 'hush'],
    ['smtp-url', 'EVENTPOST_SMTP_URL', 'smtp://user:hush@mail.example.com:587'],
    ['smtp-url', 'EVENTPOST_SMTP_URL', 'user:hush@mail.example.com'],
  ])('--%s is refused with a secret in it, and names %s', (flag, env, value) => {
    const message = `--${flag} would show the secret to everyone who can list processes. Set ${env}, or set ${env}_FILE to a file whose first line is the secret.`
    expect(() => readConfig({ [flag]: value }, {})).toThrow(new UsageError(message))
    expect(() => readConfig({ [flag]: value }, { [env]: 'x'.repeat(32) })).toThrow(new UsageError(message))
  })

  test('a master key has 32 characters or more', () => {
    expect(readConfig({}, { EVENTPOST_MASTER_KEY: 'x'.repeat(32) }).masterKey).toBe('x'.repeat(32))
  })

  test('the webhook for alerts may be private where the operator allows it', () => {
    const env = { EVENTPOST_ALERT_WEBHOOK_URL: 'http://10.1.2.3:9093/x', EVENTPOST_ALERT_PRIVATE_HOSTS: '10.0.0.0/8' }
    expect(readConfig({}, env).alertWebhook).toMatchObject({ url: 'http://10.1.2.3:9093/x', secret: null })
  })

  test('PORT applies without a setting of our own', () => {
    expect(readConfig({}, { PORT: '9000' }).port).toBe(9000)
    expect(readConfig({}, { PORT: '9000', EVENTPOST_PORT: '9001' }).port).toBe(9001)
    expect(readConfig({ port: '0' }, { PORT: '9000', EVENTPOST_PORT: '9001' }).port).toBe(0)
  })

  test('an empty variable counts as unset', () => {
    expect(readConfig({}, { EVENTPOST_PORT: '', PORT: '', EVENTPOST_DATA: '' })).toEqual(readConfig({}, {}))
  })

  test.each([
    ['https://post.example.com/', 'https://post.example.com'],
    ['HTTP://LocalHost:8080//', 'http://localhost:8080'],
  ])('the base URL %s', (given, read) => {
    expect(readConfig({ 'base-url': given }, {}).baseUrl).toBe(read)
  })

  test.each([
    ['https://tools.example.com', ['https://tools.example.com']],
    [' https://a.example ,http://localhost:3000,', ['https://a.example', 'http://localhost:3000']],
    ['vscode-webview://panel', ['vscode-webview://panel']],
    ['HTTPS://Tools.Example.com:443', ['https://tools.example.com']],
    ['http://localhost:80,CHROME-EXTENSION://abc', ['http://localhost', 'chrome-extension://abc']],
  ])('origins that may call the MCP server: %s', (given, read) => {
    expect(readConfig({ 'mcp-origins': given }, {}).mcpOrigins).toEqual(read)
    expect(readConfig({}, { EVENTPOST_MCP_ORIGINS: given }).mcpOrigins).toEqual(read)
  })

  test.each([
    '*',
    'null',
    'tools.example.com',
    'https://tools.example.com/',
    'https://tools.example.com?x',
    'https://me@tools.example.com',
    'https://tools.example.com:99999',
    'https://a.example https://b.example',
    'https://a.example,b.example',
  ])('%s is not a list of origins', (given) => {
    const read = () => readConfig({ 'mcp-origins': given }, {})
    expect(read).toThrow(UsageError)
    expect(read).toThrow('--mcp-origins takes comma-separated origins such as https://tools.example.com')
  })

  test('trusted proxies are a list', () => {
    const env = { EVENTPOST_TRUSTED_PROXIES: ' 10.0.0.0/8, ::1 ,192.0.2.7,' }
    expect(readConfig({}, env).trustedProxies).toEqual(['10.0.0.0/8', '::1', '192.0.2.7'])
  })

  test.each([
    [{ EVENTPOST_PORT: '65536' }, 'EVENTPOST_PORT takes a number from 0 to 65535.'],
    [{ PORT: '80 ' }, 'PORT takes a number from 0 to 65535.'],
    [
      { EVENTPOST_BASE_URL: 'https://a.example/?b=c' },
      'EVENTPOST_BASE_URL takes an address such as https://post.example.com.',
    ],
    [
      { EVENTPOST_BASE_URL: 'https://me:pw@a.example' },
      'EVENTPOST_BASE_URL takes an address such as https://post.example.com.',
    ],
    [
      { EVENTPOST_BASE_URL: 'https://example.com/post/' },
      'EVENTPOST_BASE_URL takes an address without a path, such as https://post.example.com.',
    ],
    [
      { EVENTPOST_MASTER_KEY: 'x'.repeat(31) },
      'EVENTPOST_MASTER_KEY takes at least 32 characters. Create one with: openssl rand -hex 32',
    ],
    // without a token, anyone could read the metrics
    [{ EVENTPOST_METRICS_TOKEN: '' }, 'EVENTPOST_METRICS_TOKEN is empty. Set a value or remove it.'],
    [{ EVENTPOST_METRICS_TOKEN_FILE: '' }, 'EVENTPOST_METRICS_TOKEN_FILE is empty. Set a value or remove it.'],
    [
      { EVENTPOST_TRUSTED_PROXIES: 'all' },
      'EVENTPOST_TRUSTED_PROXIES takes IP addresses or ranges such as 10.0.0.0/8.',
    ],
    [{ EVENTPOST_SMTP_URL: 'http://a.example' }, `EVENTPOST_SMTP_URL: ${MAIL_URL_MESSAGE}`],
    [{ EVENTPOST_SMTP_URL: 'smtp://a:b@mail.example?tls=optional' }, `EVENTPOST_SMTP_URL: ${MAIL_URL_MESSAGE}`],
    [
      { EVENTPOST_MAIL_PRIVATE_HOSTS: 'mail.internal,10.0.0.0/99' },
      'EVENTPOST_MAIL_PRIVATE_HOSTS takes host names, IP addresses or ranges such as 10.0.0.0/8.',
    ],
    [
      { EVENTPOST_MAIL_FROM: 'a@example.com, b@example.com' },
      'EVENTPOST_MAIL_FROM takes one address, such as Example <hello@example.com>.',
    ],
    [
      { EVENTPOST_ALERT_WEBHOOK_URL: 'file:///etc/passwd' },
      'EVENTPOST_ALERT_WEBHOOK_URL takes an address such as https://hooks.example.com/x.',
    ],
    [
      { EVENTPOST_ALERT_WEBHOOK_URL: 'https://127.0.0.1/x' },
      'EVENTPOST_ALERT_WEBHOOK_URL is a private address. To allow it, add its host to EVENTPOST_ALERT_PRIVATE_HOSTS.',
    ],
    [
      { EVENTPOST_ALERT_WEBHOOK_URL: 'http://hooks.example.com/x' },
      'EVENTPOST_ALERT_WEBHOOK_URL must be https, except for a host in EVENTPOST_ALERT_PRIVATE_HOSTS.',
    ],
    [
      { EVENTPOST_ALERT_WEBHOOK_SECRET: 'hush' },
      'EVENTPOST_ALERT_WEBHOOK_SECRET takes whsec_ and at least 24 bytes in base64. Create one with: echo "whsec_$(openssl rand -base64 32)"',
    ],
    [{ EVENTPOST_ALERT_SMTP_URL: 'mail' }, `EVENTPOST_ALERT_SMTP_URL: ${MAIL_URL_MESSAGE}`],
    [{ EVENTPOST_STOP_MAIL_S: '601' }, 'EVENTPOST_STOP_MAIL_S takes a number of seconds from 0 to 600.'],
    [{ EVENTPOST_STOP_MAIL_S: '1.5' }, 'EVENTPOST_STOP_MAIL_S takes a number of seconds from 0 to 600.'],
    [{ EVENTPOST_STOP_MAIL_S: '-1' }, 'EVENTPOST_STOP_MAIL_S takes a number of seconds from 0 to 600.'],
    [
      { EVENTPOST_METRICS_TOKEN_FILE: '/nowhere' },
      "EVENTPOST_METRICS_TOKEN_FILE names a file that can't be read. Check its path and permissions.",
    ],
    [
      { EVENTPOST_METRICS_TOKEN_FILE: '/dev/null' },
      'EVENTPOST_METRICS_TOKEN_FILE names a file whose first line is empty.',
    ],
  ])('%p is wrong use', (env, message) => {
    expect(() => readConfig({}, env)).toThrow(new UsageError(message))
  })

  test('an error names the flag or the file if the value comes from there', () => {
    expect(() => readConfig({ 'stop-mail-s': 'x' }, { EVENTPOST_STOP_MAIL_S: '1' })).toThrow('--stop-mail-s takes')
    expect(() => readConfig({ 'smtp-url': 'mail' }, {})).toThrow(`--smtp-url: ${MAIL_URL_MESSAGE}`)
    expect(() => readConfig({}, { EVENTPOST_MASTER_KEY_FILE: file })).toThrow(
      'EVENTPOST_MASTER_KEY_FILE takes at least',
    )
  })
})

const FLAGS = Object.values(SETTINGS).filter((setting) => !('isSecret' in setting) || 'isFlagSafe' in setting)

test.each(FLAGS.map(({ flag }) => flag))('--%s with nothing behind it is wrong use', (flag) => {
  expect(() => readConfig({ [flag]: '' }, {})).toThrow(new UsageError(`--${flag} is empty. Set a value or remove it.`))
})

test('finds names that look like settings', () => {
  const settings = Object.fromEntries(Object.values(SETTINGS).map(({ env }) => [env, 'x']))
  const env = {
    ...settings,
    EVENTPOST_METRICS_TOKEN_FILE: 'x',
    PORT: 'x',
    EVENTPOST_PROT: 'x',
    EVENTPOST_DATA_FILE: '',
  }
  expect(findUnknownSettings(env)).toEqual(['EVENTPOST_PROT', 'EVENTPOST_DATA_FILE'])
})

describe('addressOf', () => {
  test.each([
    ['127.0.0.1', 'http://127.0.0.1:8080'],
    ['0.0.0.0', 'http://localhost:8080'],
    ['::', 'http://localhost:8080'],
    ['::1', 'http://[::1]:8080'],
  ])('%s', (host, url) => {
    expect(addressOf(host, 8080)).toBe(url)
  })
})

test('the Compose file passes every setting, except where the container has its data and its port', () => {
  const compose = readFileSync(join(import.meta.dir, '../src/docs/samples/install/compose.yaml'), 'utf8')
  const passed = [...compose.matchAll(/^ {6}- (EVENTPOST_\w+)/gm)].map(([, name]) => name ?? '')
  const own = ['EVENTPOST_DATA', 'EVENTPOST_HOST', 'EVENTPOST_PORT']
  expect([...passed, ...own].toSorted()).toEqual(
    Object.values(SETTINGS)
      .map(({ env }) => env)
      .toSorted(),
  )
})
