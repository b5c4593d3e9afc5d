import { readFileSync } from 'node:fs'
import { isProxyRange } from './core/addresses.ts'
import { BACKUP_PLACE_MESSAGE, type BackupPlace, readBackupPlace, type S3Access } from './core/backup-places.ts'
import { HOUR_MS } from './core/clock.ts'
import { formatLimit, readWholeNumber } from './core/count.ts'
import { readMailbox } from './core/mail-addresses.ts'
import { MAIL_URL_MESSAGE, readMailUrl } from './core/mail-apis.ts'
import type { PostgresLocation } from './core/data-location.ts'
import { isRefusedHost, type PrivateHosts, readPrivateHosts } from './core/public-addresses.ts'

/** Wrong use of the command line or a setting: exit 2 with this line. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export type Setting = {
  flag: string
  env: string
  value: string
  default: string
  meaning: string
  /** Also read from the file in EVENTPOST_..._FILE. Never a flag: every user can list processes. */
  isSecret?: true
  isFlagSafe?: (text: string) => boolean
}

/** Flags override the environment. A test compares the table of docs/settings.md with this one. */
export const SETTINGS = {
  data: {
    flag: 'data',
    env: 'EVENTPOST_DATA',
    value: 'DIR',
    default: './data',
    meaning: 'Folder for the database.',
  },
  databaseUrl: {
    flag: 'database-url',
    env: 'EVENTPOST_DATABASE_URL',
    value: 'URL',
    default: '',
    meaning:
      'PostgreSQL database to use instead of the data folder, such as `postgres://user:password@db.example.com/eventpost`. If the URL contains a password, use the variable or the file, and percent-encode special characters in the password: `@` is `%40`, `/` is `%2F`. If it has no user, Eventpost uses `PGUSER` and `PGPASSWORD`.',
    isSecret: true,
    isFlagSafe: (text) => !/@|password/.test(text),
  },
  databaseConnections: {
    flag: 'database-connections',
    env: 'EVENTPOST_DATABASE_CONNECTIONS',
    value: 'COUNT',
    default: '10',
    meaning: "This server's read connections to PostgreSQL (2 to 100). It opens eight more for other uses.",
  },
  databasePooler: {
    flag: 'database-pooler',
    env: 'EVENTPOST_DATABASE_POOLER',
    value: 'MODE',
    default: 'none',
    meaning: '`transaction` if the URL points to a connection pooler in transaction mode, such as PgBouncer.',
  },
  host: {
    flag: 'host',
    env: 'EVENTPOST_HOST',
    value: 'ADDRESS',
    default: '127.0.0.1',
    meaning: 'Address to listen on.',
  },
  port: {
    flag: 'port',
    env: 'EVENTPOST_PORT',
    value: 'PORT',
    default: '8080',
    meaning: 'Port to listen on; `PORT` works too. 0 picks a free port.',
  },
  masterKey: {
    flag: 'master-key',
    env: 'EVENTPOST_MASTER_KEY',
    value: 'KEY',
    default: '',
    meaning:
      "Encrypts the secrets in the database; at least 32 characters. Once it is set, the server doesn't start without it.",
    isSecret: true,
  },
  baseUrl: {
    flag: 'base-url',
    env: 'EVENTPOST_BASE_URL',
    value: 'URL',
    default: '',
    meaning: 'Public address of the server. Default: the address it listens on.',
  },
  trustedProxies: {
    flag: 'trusted-proxies',
    env: 'EVENTPOST_TRUSTED_PROXIES',
    value: 'RANGES',
    default: '',
    meaning: 'Proxies whose X-Forwarded-For is trusted: comma-separated addresses or ranges.',
  },
  mcpOrigins: {
    flag: 'mcp-origins',
    env: 'EVENTPOST_MCP_ORIGINS',
    value: 'ORIGINS',
    default: '',
    meaning: 'Other origins whose pages can call /mcp, comma-separated.',
  },
  metricsToken: {
    flag: 'metrics-token',
    env: 'EVENTPOST_METRICS_TOKEN',
    value: 'TOKEN',
    default: '',
    meaning: 'Bearer token for /metrics. Without one, /metrics works only if the base URL is a loopback address.',
    isSecret: true,
  },
  smtpUrl: {
    flag: 'smtp-url',
    value: 'URL',
    env: 'EVENTPOST_SMTP_URL',
    default: '',
    meaning:
      'Mail server, such as `smtp://user:password@mail.example.com:587`, or email API, such as `resend://KEY@api.resend.com`. Without one, emails are captured, not sent. If the URL contains a password or key, use the variable or the file.',
    isSecret: true,
    isFlagSafe: (text) => !text.includes('@'),
  },
  mailFrom: {
    flag: 'mail-from',
    value: 'SENDER',
    env: 'EVENTPOST_MAIL_FROM',
    default: '',
    meaning: 'Default sender for apps, such as `Example <hello@example.com>`.',
  },
  mailPrivateHosts: {
    flag: 'mail-private-hosts',
    value: 'HOSTS',
    env: 'EVENTPOST_MAIL_PRIVATE_HOSTS',
    default: '',
    meaning:
      'Private mail servers that apps can use: comma-separated hosts, addresses or ranges, such as `mail.internal,10.0.0.0/8`.',
  },
  alertSmtpUrl: {
    flag: 'alert-smtp-url',
    value: 'URL',
    env: 'EVENTPOST_ALERT_SMTP_URL',
    default: '',
    meaning:
      "Second mail server or email API, for alerts that the first can't send. Use another provider. If the URL contains a password or key, use the variable or the file.",
    isSecret: true,
    isFlagSafe: (text) => !text.includes('@'),
  },
  alertWebhookUrl: {
    flag: 'alert-webhook-url',
    value: 'URL',
    env: 'EVENTPOST_ALERT_WEBHOOK_URL',
    default: '',
    meaning: 'Webhook that gets alerts as JSON. Works with Slack and Mattermost.',
    isSecret: true,
  },
  alertWebhookSecret: {
    flag: 'alert-webhook-secret',
    value: 'SECRET',
    env: 'EVENTPOST_ALERT_WEBHOOK_SECRET',
    default: '',
    meaning: 'Signs the requests to the alert webhook: `whsec_` and base64.',
    isSecret: true,
  },
  alertPrivateHosts: {
    flag: 'alert-private-hosts',
    value: 'HOSTS',
    env: 'EVENTPOST_ALERT_PRIVATE_HOSTS',
    default: '',
    meaning:
      'Private hosts that the alert webhook can be on: comma-separated hosts, addresses or ranges, such as `10.0.0.0/8`.',
  },
  stopMail: {
    flag: 'stop-mail-s',
    value: 'SECONDS',
    env: 'EVENTPOST_STOP_MAIL_S',
    default: '60',
    meaning:
      'How many seconds a stopping server waits for mail servers to reply to emails that were just sent (0 to 600). Without the reply, an email may be sent twice.',
  },
  backupTo: {
    flag: 'backup-to',
    value: 'PLACE',
    env: 'EVENTPOST_BACKUP_TO',
    default: '',
    meaning: 'Where scheduled backups go: a folder, or `s3://bucket/prefix`. Without it, none are made.',
  },
  backupHours: {
    flag: 'backup-hours',
    value: 'HOURS',
    env: 'EVENTPOST_BACKUP_HOURS',
    default: '24',
    meaning: 'Hours between scheduled backups (1 to 720).',
  },
  backupKeep: {
    flag: 'backup-keep',
    value: 'COUNT',
    env: 'EVENTPOST_BACKUP_KEEP',
    default: '14',
    meaning: 'How many scheduled backups are kept (1 to 1,000).',
  },
  s3Endpoint: {
    flag: 's3-endpoint',
    value: 'URL',
    env: 'EVENTPOST_S3_ENDPOINT',
    default: '',
    meaning: 'Address of the S3-compatible storage. Default: Amazon S3.',
  },
  s3Region: {
    flag: 's3-region',
    value: 'REGION',
    env: 'EVENTPOST_S3_REGION',
    default: 'us-east-1',
    meaning: 'Region of the storage.',
  },
  s3AccessKey: {
    flag: 's3-access-key',
    value: 'KEY',
    env: 'EVENTPOST_S3_ACCESS_KEY',
    default: '',
    meaning: 'Access key ID for the storage.',
    isSecret: true,
  },
  s3SecretKey: {
    flag: 's3-secret-key',
    value: 'KEY',
    env: 'EVENTPOST_S3_SECRET_KEY',
    default: '',
    meaning: 'Secret access key for the storage.',
    isSecret: true,
  },
  checkpoints: {
    flag: 'checkpoints',
    value: 'MODE',
    env: 'EVENTPOST_CHECKPOINTS',
    default: 'own',
    meaning: '`own`, or `external` to leave the write-ahead log to Litestream.',
  },
} as const satisfies Record<string, Setting>

const MASTER_KEY_MIN = 32
const CONNECTIONS_MIN = 2
const CONNECTIONS_MAX = 100
const BACKUP_HOURS_MAX = 720
const BACKUP_KEEP_MAX = 1_000

export type SettingName = keyof typeof SETTINGS

export type Config = {
  data: string
  /** null: the data is in the folder */
  database: PostgresLocation | null
  host: string
  port: number
  /** null: secrets are not encrypted */
  masterKey: string | null
  baseUrl: string | null
  trustedProxies: string[]
  mcpOrigins: string[]
  metricsToken: string | null
  smtpUrl: string | null
  mailFrom: string | null
  mailPrivateHosts: PrivateHosts
  stopMailMs: number
  alertSmtpUrl: string | null
  /** null: no webhook gets alerts */
  alertWebhook: { url: string; secret: string | null; allowed: PrivateHosts } | null
  /** null: none are scheduled */
  backups: { place: BackupPlace; access: S3Access | null; everyMs: number; keep: number } | null
  hasExternalCheckpoints: boolean
}

type Environment = Record<string, string | undefined>
export type Flags = Partial<Record<string, string>>

/** As a browser on the same machine would reach it. */
export function addressOf(host: string, port: number | undefined): string {
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${hostAndPort(shown, port)}`
}

export const hostAndPort = (host: string, port: number | undefined): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** @throws UsageError naming the invalid setting */
export function readConfig(flags: Flags, env: Environment): Config {
  const read = (name: SettingName): Given => readSetting(SETTINGS[name], flags, env)
  const text = (name: SettingName): string => read(name).text
  return {
    data: text('data'),
    database: readDatabase(read),
    host: text('host'),
    port: readPort(read('port')),
    masterKey: readMasterKey(read('masterKey')),
    baseUrl: text('baseUrl') === '' ? null : readBaseUrl(read('baseUrl')),
    trustedProxies: readProxies(read('trustedProxies')),
    mcpOrigins: readOrigins(read('mcpOrigins')),
    metricsToken: text('metricsToken') || null,
    smtpUrl: readIf(read('smtpUrl'), readMailUrl, `: ${MAIL_URL_MESSAGE}`),
    mailFrom: readIf(read('mailFrom'), readMailbox, ' takes one address, such as Example <hello@example.com>.'),
    mailPrivateHosts: readHosts(read('mailPrivateHosts')),
    alertSmtpUrl: readIf(read('alertSmtpUrl'), readMailUrl, `: ${MAIL_URL_MESSAGE}`),
    alertWebhook: readWebhook(
      read('alertWebhookUrl'),
      read('alertWebhookSecret'),
      readHosts(read('alertPrivateHosts')),
    ),
    stopMailMs: readSeconds(read('stopMail'), STOP_MAIL_MAX_S),
    backups: readBackups(read),
    hasExternalCheckpoints: readCheckpoints(read('checkpoints')),
  }
}

/** `name`: of the flag or variable that the text comes from. */
type Given = { text: string; name: string }

const listOf = ({ text }: Given): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')

function readProxies(given: Given): string[] {
  const ranges = listOf(given)
  if (ranges.every(isProxyRange)) return ranges
  throw new UsageError(`${given.name} takes IP addresses or ranges such as 10.0.0.0/8.`)
}

function readDatabase(read: (name: SettingName) => Given): PostgresLocation | null {
  const connections = readCount(read('databaseConnections'), CONNECTIONS_MAX, CONNECTIONS_MIN)
  const pooler = read('databasePooler')
  if (pooler.text !== 'none' && pooler.text !== 'transaction')
    throw new UsageError(`${pooler.name} takes none or transaction.`)
  const { text: url, name } = read('databaseUrl')
  if (url === '') return null
  if (!isPostgresUrl(url)) {
    throw new UsageError(
      `${name} takes an address with a database name, such as postgres://user:password@db.example.com/eventpost. Percent-encode special characters in the password: @ is %40, / is %2F, ? is %3F, # is %23, % is %25.`,
    )
  }
  refuseForPostgres(read)
  return { url, connections, prepares: pooler.text === 'none' }
}

/** Not if a part of the password would be read as the host or the database, because these are printed. */
function isPostgresUrl(url: string): boolean {
  const parsed = URL.parse(url)
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol) || parsed.hostname === '') return false
  const { pathname, search, hash, username, password } = parsed
  return /^\/[^/@]+$/.test(pathname) && !search.includes('@') && hash === '' && [username, password].every(isEncoded)
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Settings of the data folder would silently have no effect. */
function refuseForPostgres(read: (name: SettingName) => Given): void {
  const [backupTo, checkpoints] = [read('backupTo'), read('checkpoints')]
  if (backupTo.text !== '')
    throw new UsageError(
      `${backupTo.name} is for the data folder, and EVENTPOST_DATABASE_URL is set. Remove ${backupTo.name}, and back up PostgreSQL with pg_dump or your provider's backups.`,
    )
  if (checkpoints.text !== 'own')
    throw new UsageError(
      `${checkpoints.name} is for the data folder, and EVENTPOST_DATABASE_URL is set. Remove one of them.`,
    )
}

function readBackups(read: (name: SettingName) => Given): Config['backups'] {
  const every = readCount(read('backupHours'), BACKUP_HOURS_MAX)
  const keep = readCount(read('backupKeep'), BACKUP_KEEP_MAX)
  const access = readS3Access(read)
  const to = read('backupTo')
  if (to.text === '') return null
  const place = readBackupPlace(to.text)
  if (place === null) throw new UsageError(`${to.name} ${BACKUP_PLACE_MESSAGE}`)
  if ('bucket' in place && (access.accessKey === '' || access.secretKey === '')) {
    throw new UsageError('Backups to s3:// need EVENTPOST_S3_ACCESS_KEY and EVENTPOST_S3_SECRET_KEY.')
  }
  return { place, access: 'bucket' in place ? access : null, everyMs: every * HOUR_MS, keep }
}

function readS3Access(read: (name: SettingName) => Given): S3Access {
  const text = (name: SettingName): string => read(name).text
  const { text: endpoint, name } = read('s3Endpoint')
  const url = URL.parse(endpoint)
  if (endpoint !== '' && !(url && /^https?:$/.test(url.protocol) && url.username === '')) {
    throw new UsageError(`${name} takes an address such as https://s3.example.com.`)
  }
  const keys = { accessKey: text('s3AccessKey'), secretKey: text('s3SecretKey') }
  return { endpoint: endpoint || null, region: text('s3Region'), ...keys }
}

function readCheckpoints({ text, name }: Given): boolean {
  if (text === 'own' || text === 'external') return text === 'external'
  throw new UsageError(`${name} takes own or external.`)
}

function readCount({ text, name }: Given, most: number, least = 1): number {
  const count = readWholeNumber(text)
  if (count >= least && count <= most) return count
  throw new UsageError(`${name} takes a number from ${least} to ${formatLimit(most)}.`)
}

/** A misspelt setting would silently have no effect. */
export function findUnknownSettings(env: Environment): string[] {
  const known = Object.values<Setting>(SETTINGS).flatMap(({ env: name, isSecret }) =>
    isSecret ? [name, `${name}_FILE`] : [name],
  )
  return Object.keys(env).filter((name) => name.startsWith('EVENTPOST_') && !known.includes(name))
}

/** The text itself if `read` accepts it; null if it isn't set. */
function readIf({ text, name }: Given, read: (text: string) => object | null, otherwise: string): string | null {
  if (text !== '' && read(text) === null) throw new UsageError(`${name}${otherwise}`)
  return text || null
}

function readSetting(setting: Setting, flags: Flags, env: Environment): Given {
  refuseSecretFlag(setting, flags)
  refuseEmpty(setting, flags, env)
  const fileName = `${setting.env}_FILE`
  const file = setting.isSecret ? env[fileName] || undefined : undefined
  const found: Partial<Record<string, string>> = {
    [`--${setting.flag}`]: flags[setting.flag],
    [setting.env]: env[setting.env] || undefined,
    [fileName]: file === undefined ? undefined : readSecret(fileName, file),
    ...(setting.env === 'EVENTPOST_PORT' ? { PORT: env.PORT || undefined } : {}),
  }
  const [name, text] = Object.entries(found).find(([, one]) => one !== undefined) ?? []
  return { name: name ?? setting.env, text: text ?? setting.default }
}

function refuseSecretFlag({ flag, env, isSecret, isFlagSafe }: Setting, flags: Flags): void {
  const text = flags[flag]
  if (!isSecret || text === undefined || isFlagSafe?.(text)) return
  throw new UsageError(
    `--${flag} would show the secret to everyone who can list processes. Set ${env}, or set ${env}_FILE to a file whose first line is the secret.`,
  )
}

/** An empty secret protects nothing; an option without a value is a mistake. */
function refuseEmpty({ flag, env: name, isSecret }: Setting, flags: Flags, env: Environment): void {
  const secrets = isSecret ? [name, `${name}_FILE`] : []
  const empty = flags[flag] === '' ? `--${flag}` : secrets.find((secret) => env[secret] === '')
  if (empty !== undefined) throw new UsageError(`${empty} is empty. Set a value or remove it.`)
}

/** The first line of the file. @throws UsageError */
export function readSecret(name: string, path: string): string {
  let line: string | undefined
  try {
    line = readFileSync(path, 'utf8').split(/\r?\n/)[0]
  } catch {
    throw new UsageError(`${name} names a file that can't be read. Check its path and permissions.`)
  }
  if (!line) throw new UsageError(`${name} names a file whose first line is empty.`)
  return line
}

/** Short keys could be guessed. */
export function readMasterKey({ text, name }: Given): string | null {
  if (text === '' || text.length >= MASTER_KEY_MIN) return text || null
  throw new UsageError(`${name} takes at least ${MASTER_KEY_MIN} characters. Create one with: openssl rand -hex 32`)
}

function readHosts(given: Given): PrivateHosts {
  const read = readPrivateHosts(listOf(given))
  if (!('wrong' in read)) return read
  throw new UsageError(`${given.name} takes host names, IP addresses or ranges such as 10.0.0.0/8.`)
}

/** Plain http would show alerts on the way, so it is for private hosts only. */
function readWebhook({ text, name }: Given, secret: Given, allowed: PrivateHosts): Config['alertWebhook'] {
  if (secret.text !== '' && !isWebhookSecret(secret.text))
    throw new UsageError(
      `${secret.name} takes whsec_ and at least 24 bytes in base64. Create one with: echo "whsec_$(openssl rand -base64 32)"`,
    )
  if (text === '') return null
  const url = URL.parse(text)
  const isFit = url !== null && /^https?:$/.test(url.protocol) && url.username === ''
  if (!isFit) throw new UsageError(`${name} takes an address such as https://hooks.example.com/x.`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isRefusedHost(host, allowed))
    throw new UsageError(`${name} is a private address. To allow it, add its host to EVENTPOST_ALERT_PRIVATE_HOSTS.`)
  if (url.protocol === 'http:' && allowed.ranges.length === 0 && !allowed.names.has(host))
    throw new UsageError(`${name} must be https, except for a host in EVENTPOST_ALERT_PRIVATE_HOSTS.`)
  return { url: url.href, secret: secret.text || null, allowed }
}

/** As https://www.standardwebhooks.com has them. */
const isWebhookSecret = (text: string): boolean =>
  /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text) && Buffer.from(text.slice('whsec_'.length), 'base64').length >= 24

/** As browsers send them: lowercase, without path and default port. */
function readOrigins(given: Given): string[] {
  const origins = listOf(given)
  const isOrigin = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@]+$/i.test(text) && URL.canParse(text)
  if (origins.every(isOrigin)) return origins.map(writeOrigin)
  throw new UsageError(`${given.name} takes comma-separated origins such as https://tools.example.com.`)
}

/** The URL standard gives extensions no origin; browsers send theirs as written. */
function writeOrigin(text: string): string {
  const { origin } = new URL(text)
  return origin === 'null' ? text.toLowerCase() : origin
}

/** Mail servers have 10 minutes to answer (RFC 5321, section 4.5.3.2.6). */
const STOP_MAIL_MAX_S = 600

function readSeconds({ text, name }: Given, most: number): number {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds <= most)) throw new UsageError(`${name} takes a number of seconds from 0 to ${most}.`)
  return seconds * 1000
}

function readPort({ text, name }: Given): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new UsageError(`${name} takes a number from 0 to 65535.`)
  return port
}

function readBaseUrl({ text, name }: Given): string {
  const url = URL.parse(text)
  const isPlain = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === ''
  if (!isPlain) throw new UsageError(`${name} takes an address such as https://post.example.com.`)
  if (!/^\/*$/.test(url.pathname)) {
    throw new UsageError(`${name} takes an address without a path, such as https://post.example.com.`)
  }
  return url.origin
}
