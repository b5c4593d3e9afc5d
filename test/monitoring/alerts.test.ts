import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  type Alert,
  type AlertFacts,
  type Condition,
  findConditions,
  listDue,
  MANY_REFUSED,
  noteTry,
  planAlerts,
  readOutage,
} from '../../src/monitoring/alerts.ts'
import { DAY, HOUR, NOW } from '../helper.ts'

const GB = 1024 ** 3
const APP = { publicId: 'app_1', name: 'Engine', accountId: 'acc_1' }
const server: AlertFacts['servers'][number] = {
  name: 'mail.example.com:587',
  accountId: null,
  apps: [],
  failing: null,
  outage: null,
  refused: null,
  waiting: 0,
}
const backup = { kind: 'scheduled', place: 'x', startedAt: NOW, finishedAt: NOW, bytes: 1, error: null } as const
const well: AlertFacts = {
  at: NOW,
  servers: [server],
  brakes: [],
  disk: { freeBytes: 10 * GB, dataBytes: GB },
  writeFault: null,
  isLocal: true,
  backup: { everyMs: null, since: NOW, lastGood: null, lastFailed: null },
  refused: [],
  clocks: [0, 1_900],
}

const only = (facts: Partial<AlertFacts>): Condition => {
  const [found, ...others] = findConditions({ ...well, ...facts })
  if (!found || others.length > 0) throw new Error('expected one condition')
  return found
}
const kindsOf = (facts: Partial<AlertFacts>) => findConditions({ ...well, ...facts }).map(({ kind }) => kind)

describe('owners are told', () => {
  test('nothing when all is well', () => {
    expect(findConditions(well)).toEqual([])
  })

  test('that the mail server is gone, and how many emails wait', () => {
    const found = only({ servers: [{ ...server, failing: { reason: 'erefused' }, waiting: 3 }] })
    expect(found).toMatchObject({ kind: 'sending', accountId: null, subject: 'mail.example.com:587' })
    expect(found.title).toBe("The mail server mail.example.com:587 can't be reached")
    expect(found.detail).toContain('Emails wait for up to 72 hours by default. 3 emails are waiting.')
  })

  test('of instances whose clocks differ from the one of the database', () => {
    const found = only({ clocks: [0, 2_600, -120_000] })
    expect(found).toMatchObject({
      kind: 'clock',
      accountId: null,
      title: "The clocks of 2 instances differ from the database server's",
    })
    expect(found.detail).toStartWith("One is 2 minutes behind the database server's.")
    expect(only({ clocks: [2_600] }).detail).toStartWith("It is 3 seconds ahead of the database server's.")
  })

  test('that it accepts no emails, and why', () => {
    const stuck = (outage: AlertFacts['servers'][number]['outage']) =>
      only({ servers: [{ ...server, outage, waiting: 2 }] })
    const refused = stuck({ how: 'refused', reason: 'smtp_451' })
    expect(refused.title).toBe('The mail server mail.example.com:587 refuses all emails for now')
    expect(refused.detail).toContain('(it replied 451). 2 emails are waiting.')
    expect(stuck({ how: 'silent', reason: 'etimedout' }).title).toEndWith('accepts no emails')
    const unconfirmed = stuck({ how: 'unconfirmed', reason: 'etimedout' })
    expect(unconfirmed.detail).toContain("it doesn't respond")
    expect(unconfirmed.fix).not.toContain('password')
    const refusedApp = { reason: 'server_paused', apps: [APP] }
    const both = only({ servers: [{ ...server, outage: { how: 'silent', reason: 'etimedout' }, refused: refusedApp }] })
    expect(both.title).toEndWith('accepts no emails')
  })

  test('of the same outage after a restart, while emails wait', () => {
    const outage = { how: 'silent', reason: 'etimedout' } as const
    const { title } = only({ servers: [{ ...server, outage }] })
    expect(readOutage(title, { name: server.name, waiting: 1 })).toEqual({ how: 'silent', reason: null })
    expect(readOutage(title, { name: server.name, waiting: 0 })).toBe(null)
    const gone = only({ servers: [{ ...server, failing: { reason: 'erefused' } }] })
    expect(readOutage(gone.title, { name: server.name, waiting: 1 })).toBe(null)
  })

  test("the app's owners that its own mail server refuses it", () => {
    const refused = { reason: 'eauth', apps: [APP] }
    const found = only({ servers: [{ ...server, accountId: 'acc_1', apps: [APP], refused }] })
    expect(found).toMatchObject({ kind: 'sending', accountId: 'acc_1', path: '/apps/app_1/sender/server' })
    expect(found.detail).toContain('The mail server rejected the username and password.')
  })

  test.each([
    ['smtp_535', 'Check the username and the password'],
    ['smtp_451', 'the server may be busy or may limit this sender'],
    ['from_451', 'the server may be busy or may limit this sender'],
    ['from_550', 'Check the sender address'],
    ['api_401', 'Check the API key'],
    ['euntrusted', "Check the mail server's certificate"],
    ['server_paused', 'Check the username and the password'],
  ])('what to do about %s', (reason, fix) => {
    const found = only({ servers: [{ ...server, refused: { reason, apps: [APP] } }] })
    expect(found.fix).toContain(fix)
  })

  test.each(['eauth', 'api_401', 'euntrusted', 'server_paused'])('where to solve %s', (reason) => {
    const refused = { reason, apps: [APP] }
    const [own, shared] = ['acc_1', null].map((accountId) => only({ servers: [{ ...server, accountId, refused }] }).fix)
    expect(own).toContain('under Sender, Mail server')
    expect(own).not.toContain('EVENTPOST_')
    expect(shared).toContain('in EVENTPOST_SMTP_URL')
    expect(shared).not.toContain('Mail server')
  })

  test('that a brake is on', () => {
    const cause = { kind: 'complaints', failures: 4, emails: 900 } as const
    const found = only({ brakes: [{ app: APP, cause }] })
    expect(found).toMatchObject({ kind: 'rates', title: 'Too many emails from Engine are reported as spam' })
    expect(found.detail).toStartWith('4 of the last 900 emails were reported as spam.')
  })

  test('that the disk has less free than the data needs', () => {
    expect(kindsOf({ disk: { freeBytes: 0.6 * GB, dataBytes: GB } })).toEqual([])
    expect(kindsOf({ disk: { freeBytes: 0.4 * GB, dataBytes: 0 } })).toEqual(['disk'])
    expect(kindsOf({ disk: { freeBytes: 1.9 * GB, dataBytes: 10 * GB } })).toEqual(['disk'])
    expect(kindsOf({ disk: null })).toEqual([])
    const writes = only({ writeFault: 'disk I/O error' })
    expect(writes.title).toBe('Nothing can be saved')
    expect(writes.fix).toContain('permissions of the data folder')
    const both = findConditions({
      ...well,
      disk: { freeBytes: 0, dataBytes: 0 },
      writeFault: 'database or disk is full',
    })
    expect(new Set(both.map(({ subject }) => subject)).size).toBe(2)
    expect(both.map(({ title }) => title)).toEqual(['Nothing can be saved', 'The disk is nearly full'])
  })

  test('that PostgreSQL saves nothing', () => {
    const writeFault = 'PostgreSQL is read-only (x). Connect to the primary.'
    const found = only({ disk: null, isLocal: false, writeFault })
    expect(found.detail).toEndWith('Connect to the primary.')
    expect(found.detail).not.toEndWith('..')
    expect(found.fix).toContain('PostgreSQL')
    expect(found.fix).not.toContain('data folder')
  })

  test('that a scheduled backup is late, also if the last one was made while the clock was ahead', () => {
    const lastGood = { ...backup, startedAt: NOW + 30 * DAY, finishedAt: NOW + 30 * DAY }
    expect(kindsOf({ backup: { everyMs: DAY, since: NOW - 10 * DAY, lastGood, lastFailed: null } })).toEqual(['backup'])
  })

  test('that a scheduled backup is late, and why', () => {
    const late = (more: Partial<AlertFacts['backup']>) =>
      kindsOf({ backup: { ...well.backup, everyMs: DAY, since: NOW - 2 * DAY, ...more } })
    expect(late({})).toEqual(['backup'])
    expect(late({ everyMs: null })).toEqual([])
    expect(late({ since: NOW - DAY })).toEqual([])
    expect(late({ lastGood: { ...backup, startedAt: NOW - DAY - HOUR / 2 } })).toEqual([])
    expect(late({ lastGood: { ...backup, startedAt: NOW - DAY - 2 * HOUR } })).toEqual(['backup'])
    const lastGood = { ...backup, startedAt: NOW - 2 * DAY }
    expect(late({ since: NOW - HOUR / 2, lastGood })).toEqual(['backup'])
    expect(late({ since: NOW - HOUR / 60, lastGood })).toEqual([])
    const lastFailed = { ...backup, error: 'The disk is full.' }
    expect(only({ backup: { ...well.backup, everyMs: DAY, since: 0, lastFailed } }).detail).toBe(
      'There is no backup yet. The last attempt failed: The disk is full.',
    )
  })

  test('that many requests are refused, but not those that are part of normal use', () => {
    const refused = (code: string, count: number) =>
      kindsOf({ refused: [{ accountId: 'acc_1', appId: 'app_1', codes: [{ code, count }] }] })
    expect(refused('invalid_field', MANY_REFUSED)).toEqual(['refused'])
    expect(refused('invalid_field', MANY_REFUSED - 1)).toEqual([])
    expect(refused('contact_not_found', 10 * MANY_REFUSED)).toEqual([])
  })
})

const TICK = 10_000
const CONDITION: Condition = only({ disk: { freeBytes: 0, dataBytes: 0 } })

/** Plans one look after another; what is due is sent at once, as long as `arrives` says so. */
function watch(arrives = (_: boolean): boolean => true) {
  const [absentSince, cameBack] = [new Map<string, number>(), new Set<string>()]
  const told: string[] = []
  let [alerts, at]: [Alert[], number] = [[], NOW]
  const look = (isMet: boolean): void => {
    at += TICK
    const conditions = isMet ? [CONDITION] : []
    alerts = planAlerts({ alerts, conditions, absentSince, cameBack, recipientsOf: () => ['webhook'], at }).alerts
    alerts = alerts.map((alert) => {
      const due = listDue(alert, { alerts, absentSince, cameBack, at })
      if (arrives(isMet)) told.push(...due.map(({ isOver }) => (isOver ? 'resolved' : 'opened')))
      const result = arrives(isMet) ? 'sent' : 'failed'
      return { ...alert, notices: alert.notices.map((one) => (due.includes(one) ? noteTry(one, result, at) : one)) }
    })
  }
  return {
    look,
    told,
    restart: () => (absentSince.clear(), cameBack.clear()),
    alerts: () => alerts,
    pass: (ms: number) => void (at += ms),
  }
}

test('a problem that keeps its own alerts from arriving is told when it is over, or when it keeps coming back', () => {
  const { look, told } = watch((isMet) => !isMet)
  const minutes = (count: number, isMet: boolean): void => {
    for (let index = 0; index < count * 6; index += 1) look(isMet)
  }
  for (let times = 0; times < 2; times += 1) {
    minutes(2, true)
    minutes(18, false)
  }
  expect(told).toEqual(['resolved', 'resolved'])
  minutes(2, true)
  minutes(18, false)
  expect(told).toEqual(['resolved', 'resolved', 'opened'])
})

test('a problem that is never gone for long is told in a moment when it is gone', () => {
  const { look, told } = watch((isMet) => !isMet)
  for (let times = 0; times < 10; times += 1) look(times % 2 === 0)
  expect(told).toEqual(['opened'])
})

describe('an alert', () => {
  test('is sent once, followed by "resolved" once', () => {
    const { look, told } = watch()
    for (const isMet of [false, true, true, true, false, false, false, false]) look(isMet)
    expect(told).toEqual(['opened', 'resolved'])
  })

  test('about the same server is one, and about that of another account another', () => {
    const gone = { ...server, failing: { reason: 'erefused' } }
    const own = { ...gone, accountId: 'acc_1', apps: [APP] }
    const conditions = findConditions({ ...well, servers: [gone, own, own] })
    const plan = {
      alerts: [],
      conditions,
      absentSince: new Map(),
      cameBack: new Set<string>(),
      recipientsOf: () => [],
      at: NOW,
    }
    expect(planAlerts(plan).alerts.map(({ subject }) => subject)).toEqual([
      'mail.example.com:587',
      'acc_1 mail.example.com:587',
    ])
  })

  test('goes on over a moment without its cause', () => {
    const { look, told } = watch()
    for (const isMet of [true, false, true, false, true]) look(isMet)
    expect(told).toEqual(['opened'])
  })

  test('is over in time though the clock is set back', () => {
    const { look, told, pass, alerts } = watch()
    for (const isMet of [true, false]) look(isMet)
    pass(-DAY)
    for (const isMet of [false, false, false]) look(isMet)
    expect(told).toEqual(['opened', 'resolved'])
    const [alert] = alerts()
    expect(alert?.resolvedAt).toBe(alert?.openedAt ?? 0)
  })

  test('that comes back again and again stays open for longer', () => {
    const { look, told } = watch()
    for (let turn = 0; turn < 20; turn++) for (const isMet of [true, false, false, false]) look(isMet)
    expect(told).toEqual(['opened', 'resolved', 'opened', 'resolved', 'opened'])
  })

  test('that nobody could be told about is told about once, when it is over', () => {
    const plan = (alerts: Alert[], conditions: Condition[], at: number) =>
      planAlerts({
        alerts,
        conditions,
        absentSince: new Map([[alerts[0]?.id ?? '', NOW]]),
        cameBack: new Set(),
        recipientsOf: () => ['webhook'],
        at,
      })
    const opened = plan([], [CONDITION], NOW).alerts
    const [over] = plan(opened, [], NOW + HOUR).alerts
    expect(over?.notices.map(({ isOver, state }) => [isOver, state])).toEqual([
      [false, 'left_out'],
      [true, 'due'],
    ])
  })

  test('is sent to somebody who joins while it is open, and to nobody twice', () => {
    const plan = (alerts: Alert[], recipients: string[]) =>
      planAlerts({
        alerts,
        conditions: [CONDITION],
        absentSince: new Map(),
        cameBack: new Set(),
        recipientsOf: () => recipients,
        at: NOW,
      })
    const opened = plan([], ['mem_1']).alerts
    const joined = plan(opened, ['mem_1', 'mem_2'])
    expect(joined.changed.flatMap(({ notices }) => notices.map(({ route }) => route))).toEqual(['mem_1', 'mem_2'])
    expect(plan(joined.alerts, ['mem_1', 'mem_2']).changed).toEqual([])
  })

  test('whatever happens, each problem is told as opened, then resolved, never twice', () => {
    const events = fc.array(fc.oneof(fc.boolean(), fc.constant('restart' as const)), { maxLength: 60 })
    fc.assert(
      fc.property(events, (steps) => {
        const { look, told, restart } = watch()
        for (const step of steps) {
          if (step === 'restart') restart()
          else look(step)
        }
        expect(told).toEqual(told.map((_, index) => (index % 2 === 0 ? 'opened' : 'resolved')))
      }),
    )
  })
})

describe('a notice that fails', () => {
  const due = { route: 'webhook', isOver: false, state: 'due', tries: 0, nextAt: NOW } as const

  test('is tried again, less and less often, and given up after two days', () => {
    let [notice, at, times] = [noteTry(due, 'failed', NOW), NOW, 1]
    const waits: number[] = []
    while (notice.state === 'due') {
      waits.push((notice.nextAt - at) / 1000)
      at = notice.nextAt
      notice = noteTry(notice, 'failed', at)
      times += 1
    }
    expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40])
    expect([notice.state, times]).toEqual(['given_up', 100])
    expect(at - NOW).toBeGreaterThan(44 * HOUR)
  })

  test('stays left out if it was on its way when the problem ended, unless it may have arrived', () => {
    const leftOut = { ...due, state: 'left_out' } as const
    const stateAfter = (result: Parameters<typeof noteTry>[1]) => noteTry(leftOut, result, NOW).state
    expect((['failed', 'gone', 'sent', 'unknown'] as const).map(stateAfter)).toEqual([
      'left_out',
      'left_out',
      'sent',
      'unknown',
    ])
  })

  test('does not wait for a clock that was set back', () => {
    const alert = { notices: [noteTry(due, 'failed', NOW + DAY)] } as unknown as Alert
    expect(listDue(alert, { alerts: [alert], absentSince: new Map(), cameBack: new Set(), at: NOW })).toHaveLength(1)
  })
})

test('a problem of ten minutes in every hour is reported a few times a day', () => {
  let alerts: Alert[] = []
  let told = 0
  const [absentSince, cameBack] = [new Map<string, number>(), new Set<string>()]
  const condition = only({
    refused: [{ accountId: 'acc_1', appId: null, codes: [{ code: 'invalid_field', count: 500 }] }],
  })
  for (let at = NOW; at < NOW + DAY; at += 10_000) {
    const conditions = (at - NOW) % HOUR < HOUR / 6 ? [condition] : []
    const planned = planAlerts({ alerts, conditions, absentSince, cameBack, recipientsOf: () => ['member'], at })
    alerts = planned.alerts.map((alert) => ({
      ...alert,
      notices: alert.notices.map((notice) => {
        if (!listDue(alert, { alerts: planned.alerts, absentSince, cameBack, at }).includes(notice)) return notice
        told += 1
        return noteTry(notice, 'sent', at)
      }),
    }))
  }
  expect(told).toBeLessThan(12)
})
