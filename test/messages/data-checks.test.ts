import { withSql } from '../data-folder.ts'
import { describe, expect, test } from 'bun:test'
import { warnOfData } from '../../src/messages/data-checks.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { createMessaging, messageOf } from '../messaging.ts'
import { CONTACTS, useSharedServer } from '../helper.ts'
import { checkLive } from '../../src/messages/message-checks.ts'

const openServer = useSharedServer()

const TRIAL = { date: 'trialEndsAt', days: 3, when: 'before' } as const

/** Events and values of fields by name. */
type Data = { fields?: Record<string, string[]>; events?: object[]; starts?: object[] }

async function warningsOf(message: Partial<MessageContent>, { fields = {}, events = [], starts = [] }: Data = {}) {
  const store = {
    listFieldValues: async (_: number, { name }: { name: string }) => ({
      values: fields[name] ?? [],
      isAll: !fields[name]?.includes('more'),
    }),
    countFieldPeople: async (_: number, { values }: { values: string[] }) =>
      values.map((value) => ({ value, people: value === 'crowd' ? 10_000 : 1 })),
    listEvents: async () => ({ rows: events.map((one) => ({ properties: JSON.stringify(one) })), next: null }),
  } as unknown as Parameters<typeof warnOfData>[0]['store']
  const found = await warnOfData(
    { store, app: { id: 1 } },
    {
      ...messageOf(message),
      settings: { sendWindow: null },
      starts: starts.map((one) => ({ properties: JSON.stringify(one) })),
    },
  )
  return found.map(({ field, message }) => [field, message])
}

describe('dates', () => {
  const about = (values: string[]) => warningsOf({ trigger: TRIAL }, { fields: { trialEndsAt: values } })
  const none = [['trigger.date', 'No person has `fields.trialEndsAt` yet.']]
  const wrong = (who: string, example: string) => [
    [
      'trigger.date',
      `${who} a value in \`fields.trialEndsAt\` that is not a date, for example "${example}". They don't trigger this message.`,
    ],
  ]
  test('that nobody has', async () => {
    expect(await about([])).toEqual(none)
    expect(await about(['', ' '])).toEqual(none)
  })
  test('of every form are fine', async () =>
    expect(
      await about(['2026-12-01', '2026-12-01T10:00:00Z', '1767225600', '1767225600.5', 'Mon, 30 Nov 2026']),
    ).toEqual([]))
  test('that are none are counted', async () => {
    expect(await about(['soonish', '2026-12-01'])).toEqual(wrong('1 person has', 'soonish'))
    expect(await about(['2026-13-45', '01.02.2026', 'true'])).toEqual(wrong('3 people have', '2026-13-45'))
    expect(await about(['soon', 'crowd'])).toEqual(wrong('At least 10,001 people have', 'crowd'))
    expect(await about(['2026-12-01', 'more'])).toEqual(wrong('At least 1 person has', 'more'))
    expect(await about([`\`${'x'.repeat(50)}`])).toEqual(wrong('1 person has', `'${'x'.repeat(39)}…`))
  })
})

describe('timezones', () => {
  const fields = { timezone: ['Europe/Berlin', 'Berlin', '+02:00'], trialEndsAt: ['2026-12-01'] }
  const warning =
    '2 people have a value in `fields.timezone` that is not a timezone, for example "Berlin". Valid names look like Europe/Berlin. The app\'s timezone is used instead.'
  test('matter where local time decides', async () => {
    expect(await warningsOf({ trigger: TRIAL }, { fields })).toEqual([['trigger.date', warning]])
    expect(await warningsOf({ wait: { until: '09:00' } }, { fields })).toEqual([['wait', warning]])
    expect(await warningsOf({ wait: { minutes: 5 } }, { fields })).toEqual([])
  })
})

describe('a property to compare', () => {
  const onlyIf = [{ rule: 'notDone', event: 'invoice.paid', same: 'invoiceId' } as const]
  const compare = (data: Data) => warningsOf({ onlyIf }, data)
  const at = 'onlyIf[0].same'
  test('is fine where both events have it, or none has arrived', async () => {
    expect(await compare({})).toEqual([])
    expect(await compare({ starts: [{ invoiceId: 1 }], events: [{ invoiceId: 2 }] })).toEqual([])
  })
  test('is missing in the trigger', async () =>
    expect(await compare({ starts: [{ invoiceId: 1 }, {}] })).toEqual([
      [at, '`invoiceId` is missing in 1 of the last 2 events. No `invoice.paid` event matches in that case.'],
    ]))
  test('is missing in the other event', async () =>
    expect(await compare({ starts: [{ invoiceId: 1 }], events: [{ invoiceID: 1 }] })).toEqual([
      [at, 'No `invoice.paid` event has `invoiceId` yet. Did you mean `invoiceID`?'],
    ]))
})

test('wrong values are found however many people have right ones', async () => {
  const server = await openServer()
  const messaging = await createMessaging(server)
  const values: [name: string, value: string, person: number][] = []
  const add = (...value: (typeof values)[number]): void => void values.push(value)
  for (let person = 1; person <= 3_000; person += 1) {
    add('timezone', person % 2 === 0 ? 'Europe/Berlin' : 'America/New_York', person)
    add('trialEndsAt', new Date(1.7e12 + 1e6 * person).toISOString(), person)
  }
  for (const [place, value] of ['Berlin', 'UTC+2', 'CEST'].entries()) add('timezone', value, 4_000 + place)
  for (const [place, value] of ['01.12.2026', '30.11.2026', 'soon'].entries()) add('trialEndsAt', value, 4_000 + place)
  await withSql(server.folder, async (sql) => {
    const { itemsOf } = sql.dialect
    const insert = `INSERT INTO contact_fields (app_id, name, value, contact_id)
      SELECT CAST(? AS bigint), value ->> 0, value ->> 1, CAST(value ->> 2 AS bigint) FROM ${itemsOf('?', 'given')}`
    await sql.prepare(insert).run(messaging.app.id, JSON.stringify(values))
  })
  const { warnings } = await checkLive(messaging.context(), messageOf({ trigger: TRIAL }))
  expect(warnings.map(({ message }) => message.split(',')[0])).toEqual([
    'At least 3 people have a value in `fields.trialEndsAt` that is not a date',
    '3 people have a value in `fields.timezone` that is not a timezone',
  ])
  const list = async (name: string, most: number) => messaging.store().listFieldValues(messaging.app.id, { name, most })
  const zones = ['America/New_York', 'Berlin', 'CEST', 'Europe/Berlin', 'UTC+2']
  for (const most of [3, 4, 5, 6]) expect(await list('timezone', most)).toEqual({ values: zones, isAll: true })
  expect(await list('timezone', 2)).toEqual({ values: zones.toSpliced(2, 1), isAll: false })
  expect(await list('nothing', 2)).toEqual({ values: [], isAll: true })
  const asked = { name: 'timezone', values: ['Berlin', 'Europe/Berlin', 'None'], most: 100 }
  expect(await messaging.store().countFieldPeople(messaging.app.id, asked)).toEqual([
    { value: 'Berlin', people: 1 },
    { value: 'Europe/Berlin', people: 99 },
  ])
})

test('the check before going live reads the fields of people', async () => {
  const server = await openServer()
  const messaging = await createMessaging(server)
  const add = (email: string, trialEndsAt: string) =>
    server.call('POST', CONTACTS, { body: { app: server.first.appId, email, fields: { trialEndsAt } } })
  const check = async () => {
    const { problems, warnings } = await checkLive(messaging.context(), messageOf({ trigger: TRIAL }))
    expect(problems).toEqual([])
    return warnings.map(({ message }) => message)
  }
  expect(await check()).toEqual(['No person has `fields.trialEndsAt` yet.'])
  await add('a@example.com', '2026-12-01')
  expect(await check()).toEqual([])
  await add('b@example.com', 'soonish')
  await add('c@example.com', 'soonish')
  await add('d@example.com', '2026-13-45')
  expect((await check()).join()).toStartWith(
    '3 people have a value in `fields.trialEndsAt` that is not a date, for example "soonish".',
  )
  // who has no date gets no email, so their values don't matter
  const mail = { subject: 'Ends {{ contact.fields.trialEndsAt | date: "full" }}', body: 'B' }
  const { problems, tried } = await checkLive(messaging.context(), messageOf({ trigger: TRIAL, mail }))
  expect([problems, tried?.of]).toEqual([[], 1])
})
