import { describe, expect, test } from 'bun:test'
import type { SenderCheck } from '../../src/accounts/sender-checks.ts'
import { type CheckName, diagnose, type DoctorFacts, type Finding, summarize } from '../../src/monitoring/doctor.ts'
import { DAY, HOUR, NOW } from '../helper.ts'

const GB = 1024 ** 3
const backup = { kind: 'manual', place: 'x', startedAt: NOW, finishedAt: NOW, bytes: 1, error: null } as const
const SPF: SenderCheck = { about: 'SPF', state: 'good', sentence: '', record: null }
const ADDRESS = { baseUrl: 'https://post.example.com', isLocal: false, isServed: true, tried: null }
const well: DoctorFacts = {
  at: NOW,
  data: { location: '/data', isLocal: true, bytes: GB, schemaVersion: 54, risks: [] },
  removedCopies: [],
  exposed: [],
  disk: { freeBytes: 10 * GB, dataBytes: GB },
  clock: { newestAt: NOW, isSynchronized: true, aheadMs: 0 },
  address: { ...ADDRESS, tried: { name: ADDRESS.baseUrl, problem: null } },
  proxy: { trusted: ['127.0.0.1'], untrusted: null },
  sender: { hasServer: true, hasSender: true, without: [] },
  records: [{ appId: 'app_1', domain: 'acme.example', checks: [SPF] }],
  backup: { everyMs: DAY, since: NOW - 9 * DAY, lastGood: backup, lastFailed: null },
  backupFolder: { path: '/backups', fault: null, owner: 'eventpost' },
  mailServers: [
    { name: 'mail.example.com:587', appId: 'app_1', check: { is: 'fine', isSecure: true, login: 'taken' } },
  ],
  alerts: { routes: [], hasSecondRoute: true, unsent: null, open: [] },
}

const CHECKS: CheckName[] = [
  'Data folder',
  'Permissions',
  'Disk',
  'Clock',
  'Public address',
  'Proxy',
  'Sender',
  'DNS records',
  'Backup',
  'Mail server',
  'Alerts',
]

test('says for each check that all is well', () => {
  const findings = diagnose(well)
  expect(findings.map(({ check }) => check)).toEqual(CHECKS)
  expect(findings.filter(({ state }) => state !== 'good')).toEqual([])
  expect(summarize(findings)).toBe('No problems found.')
})

const FAILED = { is: 'failed', reason: 'eauth', reply: '535 5.7.8' } as const
const isMissing: SenderCheck = { ...SPF, state: 'bad', sentence: 'acme.example has no SPF record. Add this one.' }

const MISTAKES: [
  what: string,
  facts: Partial<DoctorFacts>,
  check: CheckName,
  state: Finding['state'],
  text: string,
  fix: string,
][] = [
  [
    'files that others can open',
    { exposed: [{ file: '/data/eventpost.db', mode: '0644' }] },
    'Permissions',
    'bad',
    'Other users of this machine can open /data/eventpost.db (mode 0644).',
    'chmod go-rwx /data/eventpost.db',
  ],
  [
    'a full disk',
    { disk: { freeBytes: GB / 4, dataBytes: GB } },
    'Disk',
    'bad',
    '256 MB is free, and 512 MB is needed.',
    'Delete files',
  ],
  [
    'a database server that does not wait for its disk',
    { data: { ...well.data, risks: [{ setting: 'fsync', value: 'off' }] } },
    'Database',
    'caution',
    "fsync is off: if the database's machine crashes, data can be lost or damaged.",
    'Turn fsync on in postgresql.conf, unless your provider',
  ],
  [
    'a database whose default is to answer before it has stored',
    { data: { ...well.data, risks: [{ setting: 'synchronous_commit', value: 'local' }] } },
    'Database',
    'caution',
    'synchronous_commit is local by default. Eventpost turns it on',
    'Set synchronous_commit to on',
  ],
  [
    'a clock that is behind the data',
    { clock: { newestAt: NOW + 3 * HOUR, isSynchronized: null, aheadMs: 0 } },
    'Clock',
    'bad',
    'the newest data is from 3 hours later',
    'timedatectl set-ntp true',
  ],
  [
    "a clock that differs from the database server's",
    { clock: { newestAt: null, isSynchronized: true, aheadMs: -3_400 } },
    'Clock',
    'bad',
    "which is 3 seconds behind the database server's",
    'Turn on time synchronization',
  ],
  [
    'a clock that drifts',
    { clock: { newestAt: null, isSynchronized: false, aheadMs: 0 } },
    'Clock',
    'caution',
    'is not synchronized',
    'timedatectl',
  ],
  [
    'links that only this machine can open',
    { address: { ...ADDRESS, baseUrl: 'http://127.0.0.1:8080', isLocal: true } },
    'Public address',
    'bad',
    'lead to http://127.0.0.1:8080, which only this machine can open',
    'EVENTPOST_BASE_URL',
  ],
  [
    'a public address that does not answer',
    { address: { ...ADDRESS, tried: { name: '', problem: 'ECONNREFUSED.' } } },
    'Public address',
    'bad',
    "https://post.example.com can't be reached: ECONNREFUSED.",
    'the firewall',
  ],
  [
    'an address without TLS',
    { address: { ...ADDRESS, baseUrl: 'http://post.example.com' } },
    'Public address',
    'caution',
    'is not encrypted',
    'reverse proxy with TLS',
  ],
  [
    'a proxy that is not trusted',
    { proxy: { trusted: [], untrusted: '10.0.0.2' } },
    'Proxy',
    'bad',
    '10.0.0.2 sends X-Forwarded-For but is not a trusted proxy.',
    'EVENTPOST_TRUSTED_PROXIES=10.0.0.2',
  ],
  [
    'TLS without a trusted proxy',
    { proxy: { trusted: [], untrusted: null } },
    'Proxy',
    'bad',
    'no proxy is trusted',
    'EVENTPOST_TRUSTED_PROXIES',
  ],
  [
    'a live message without a sender',
    { sender: { ...well.sender, without: [{ appId: 'app_1', appName: 'Engine', messages: 2 }] } },
    'Sender',
    'bad',
    "2 live messages in Engine can't be sent: no sender address is set.",
    'EVENTPOST_MAIL_FROM',
  ],
  [
    'missing DNS records',
    { records: [{ appId: 'app_1', domain: 'acme.example', checks: [isMissing] }] },
    'DNS records',
    'bad',
    'SPF for acme.example is missing or wrong, so emails may go to spam.',
    'Add the records shown on https://post.example.com/apps/app_1/sender/domain:\n',
  ],
  [
    'a missing DNS record, with its content',
    {
      records: [
        {
          appId: 'app_1',
          domain: 'acme.example',
          checks: [{ ...isMissing, record: { name: 'acme.example', type: 'TXT', value: 'v=spf1 mx ~all' } }],
        },
      ],
    },
    'DNS records',
    'bad',
    'SPF for acme.example is missing or wrong',
    'acme.example has no SPF record. Add this one. TXT record for acme.example: v=spf1 mx ~all',
  ],
  [
    'missing DNS records, each on a line',
    {
      records: [
        {
          appId: 'app_1',
          domain: 'acme.example',
          checks: [
            { ...isMissing, record: { name: 'acme.example', type: 'TXT', value: 'v=spf1 mx ~all' } },
            { ...isMissing, about: 'DMARC', sentence: 'acme.example has no DMARC record.' },
          ],
        },
      ],
    },
    'DNS records',
    'bad',
    'SPF and DMARC for acme.example are missing or wrong',
    ': v=spf1 mx ~all\nacme.example has no DMARC record.',
  ],
  [
    'no backup',
    { backup: { everyMs: null, since: NOW, lastGood: null, lastFailed: null } },
    'Backup',
    'caution',
    'There is no backup.',
    'eventpost backup',
  ],
  [
    'an old backup by hand',
    { backup: { everyMs: null, since: NOW, lastGood: { ...backup, finishedAt: NOW - 9 * DAY }, lastFailed: null } },
    'Backup',
    'caution',
    'The last backup is 9 days old.',
    'eventpost backup',
  ],
  [
    'a late scheduled backup',
    {
      backup: {
        everyMs: DAY,
        since: 0,
        lastGood: { ...backup, startedAt: NOW - 3 * DAY, finishedAt: NOW - 3 * DAY },
        lastFailed: { ...backup, error: 'Access denied.' },
      },
    },
    'Backup',
    'bad',
    'The last backup is 3 days old. The last attempt failed: Access denied.',
    'bucket',
  ],
  [
    'a backup folder that is missing',
    { backupFolder: { path: '/backups', fault: 'missing', owner: 'eventpost' } },
    'Backup',
    'bad',
    "Scheduled backups can't be made: the folder /backups does not exist.",
    'sudo install -d -m 700 -o eventpost /backups',
  ],
  [
    'a backup folder that systemd mounts read-only',
    { backupFolder: { path: '/backups', fault: 'read_only', owner: 'eventpost' } },
    'Backup',
    'bad',
    'the folder /backups is read-only.',
    'ReadWritePaths=/backups',
  ],
  [
    'a backup folder without space',
    {
      backup: {
        ...well.backup,
        lastFailed: {
          ...backup,
          kind: 'scheduled',
          finishedAt: NOW + 1,
          error: 'A backup needs 3 GB of free space in /backups, and 1 GB are free. Free more, or use another disk.',
        },
      },
    },
    'Backup',
    'bad',
    'The last attempt failed: A backup needs 3 GB of free space in /backups',
    'Free up space on the backup disk, or set EVENTPOST_BACKUP_TO to a folder on another disk.',
  ],
  [
    'a scheduled backup that failed, before it is late',
    {
      backup: {
        ...well.backup,
        lastGood: { ...backup, finishedAt: NOW - 2 * HOUR },
        lastFailed: { ...backup, kind: 'scheduled', error: 'Access denied.' },
      },
    },
    'Backup',
    'bad',
    'The last backup is 2 hours old. The last attempt failed: Access denied.',
    'sudo install -d -m 700 -o eventpost /backups',
  ],
  [
    'a mail server that refuses the password',
    { mailServers: [{ name: 'mail.example.com:587', appId: 'app_1', check: FAILED }] },
    'Mail server',
    'bad',
    'The mail server rejected the username and password. It replied 535 5.7.8.',
    'password under Sender, Mail server',
  ],
  [
    "the installation's mail server that refuses the password",
    { mailServers: [{ name: 'mail.example.com:587', appId: null, check: FAILED }] },
    'Mail server',
    'bad',
    'The mail server rejected the username and password. It replied 535 5.7.8.',
    'password in EVENTPOST_SMTP_URL',
  ],
  [
    'no mail server',
    { mailServers: [], sender: { ...well.sender, hasServer: false } },
    'Mail server',
    'caution',
    'emails are captured, not sent',
    'EVENTPOST_SMTP_URL',
  ],
  [
    'a webhook that does not answer',
    {
      alerts: {
        ...well.alerts,
        routes: [{ name: 'The webhook at hooks.example.com', problem: 'It answered with status 500.' }],
      },
    },
    'Alerts',
    'bad',
    "The webhook at hooks.example.com can't be used.",
    'test alert',
  ],
  [
    'alert routes that only the server knows',
    { alerts: { ...well.alerts, routes: null } },
    'Alerts',
    'unknown',
    'a webhook or through a second mail server, which was not checked.',
    "run this command with the server's EVENTPOST_ALERT_WEBHOOK_URL or EVENTPOST_ALERT_SMTP_URL.",
  ],
  [
    'a mail server that is gone, once',
    {
      mailServers: [
        { name: '127.0.0.1:2526', appId: 'app_1', check: { is: 'failed', reason: 'erefused', reply: '500' } },
      ],
    },
    'Mail server',
    'bad',
    "127.0.0.1:2526 can't be used. Nothing responds at the mail server's address and port. It replied 500.",
    'Check that it is running and that both are correct.',
  ],
  [
    'a mail server that does not answer',
    { mailServers: [{ name: '127.0.0.1:2526', appId: null, check: { is: 'failed', reason: 'etimedout' } }] },
    'Mail server',
    'bad',
    "127.0.0.1:2526 can't be used. The mail server did not respond in time.",
    'Check that it is running, and check its address and port.',
  ],
  [
    "a private address that apps can't use",
    {
      mailServers: [{ name: '10.0.0.5:25', appId: 'app_1', check: { is: 'failed', reason: 'eprivate' } }],
    },
    'Mail server',
    'bad',
    "10.0.0.5:25 can't be used. No public mail server has this name or address.",
    'the operator must restart Eventpost with EVENTPOST_MAIL_PRIVATE_HOSTS.',
  ],
  [
    'an open alert',
    {
      alerts: {
        ...well.alerts,
        open: [
          {
            kind: 'refused',
            title: 'Many requests are refused',
            fix: 'Open Requests.',
            path: '/apps/app_1/requests',
            since: NOW,
          },
        ],
      },
    },
    'Alerts',
    'bad',
    'Many requests are refused, since',
    'Open Requests.',
  ],
  [
    'an installation without an owner',
    { alerts: { ...well.alerts, unsent: 'no_owner' } },
    'Alerts',
    'bad',
    'Nobody gets alert emails: the first account has no owner.',
    'setup link',
  ],
  [
    'no sender address for alerts',
    { alerts: { ...well.alerts, unsent: 'no_sender' } },
    'Alerts',
    'bad',
    'Nobody gets alert emails: there is no sender address for them.',
    'EVENTPOST_MAIL_FROM',
  ],
  [
    'no way to hear of a broken mail server',
    { alerts: { ...well.alerts, hasSecondRoute: false } },
    'Alerts',
    'caution',
    'Alerts are sent only through the same mail servers as your emails. If these fail, nobody gets an alert.',
    'EVENTPOST_ALERT_WEBHOOK_URL',
  ],
]

describe('finds', () => {
  test.each(MISTAKES)('%s', (_, facts, check, state, text, fix) => {
    const others = diagnose({ ...well, ...facts }).filter((one) => one.state !== 'good')
    expect(others.map((one) => [one.check, one.state])).toEqual([[check, state]])
    expect(others[0]?.text).toContain(text)
    expect(others[0]?.fix).toContain(fix)
  })

  test('each mistake with a fix in one or two lines', () => {
    for (const [, facts] of MISTAKES)
      for (const { state, fix } of diagnose({ ...well, ...facts }))
        if (state === 'bad')
          expect([fix?.length ?? 0, (fix?.length ?? 0) > 0 && (fix?.length ?? 0) <= 200]).toEqual([
            fix?.length ?? 0,
            true,
          ])
  })

  test('a full disk once, although there is an alert about it', () => {
    const open = [{ kind: 'disk', title: 'The disk is nearly full', fix: 'Delete files.', path: '/system', since: NOW }]
    const found = diagnose({ ...well, disk: { freeBytes: 1, dataBytes: 1 }, alerts: { ...well.alerts, open } })
    expect(found.filter(({ state }) => state === 'bad').map(({ check }) => check)).toEqual(['Disk'])
  })

  test('a public address that was not tried, because no server runs', () => {
    const [found] = diagnose({ ...well, address: { ...ADDRESS, isServed: false } }).filter(
      ({ state }) => state !== 'good',
    )
    expect(found).toMatchObject({ check: 'Public address', state: 'unknown' })
  })
})

test('says which schema the data has, because each engine counts its own versions', () => {
  const textOf = (data: Partial<DoctorFacts['data']>) => diagnose({ ...well, data: { ...well.data, ...data } })[0]?.text
  expect(textOf({})).toBe('/data contains a database of 1 GB, schema version 54.')
  const location = 'postgres://db.example.com/eventpost'
  expect(textOf({ location, isLocal: false, schemaVersion: 1 })).toBe(`${location} contains 1 GB, PostgreSQL schema 1.`)
})
