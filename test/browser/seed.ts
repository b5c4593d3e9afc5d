/** People and events over weeks, some hostile. */
import { BATCH, CONTACTS, DAY, HOUR } from '../helper.ts'
import { publicId } from '../../src/core/ids.ts'
import { addDeliveries, type ResultRow } from '../dashboard/messages/result-rows.ts'
import type { Served } from './chromium.ts'

const MINUTE = 60_000

export const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(2)>`
/** Bidirectional, empty and overlong texts. */
export const SLY = `invoice\u202Egnp.exe \u200B\u200D ${'\u0301'.repeat(12)} שלום مرحبا 👩‍🚀 ${'unbreakable'.repeat(30)}`

/** The person with the most data. */
export const ADA = 'ada.lovelace@analytical-engines.example.com'

const NAMES = ['results_ready', 'signed_in', 'report_exported', 'card_declined', 'invited_a_colleague']

type Sent = {
  email: string
  event: string
  properties?: object
  firstName?: string
  lastName?: string
}

async function sendAt(server: Served, agoMs: number, events: Sent[]): Promise<void> {
  server.clock.wallMs -= agoMs
  const all = events.map((event) => ({
    app: server.first.appId,
    createContact: true,
    ...event,
  }))
  const { status } = await server.call('POST', BATCH, {
    body: { events: all },
  })
  server.clock.wallMs += agoMs
  if (status !== 207) throw new Error(`seeding answered ${status}`)
}

/** Deterministic, more by day than by night. */
const howMany = (at: number): number => {
  const hour = new Date(at).getUTCHours()
  const isDay = hour > 6 && hour < 20
  return (isDay ? 6 : 1) + ((Math.floor(at / HOUR) * 7) % 5)
}

const some = (at: number, count: number): Sent[] =>
  Array.from({ length: count }, (_, i) => ({
    email: `person${(Math.floor(at / HOUR) * 3 + i * 7) % 60}@example.com`,
    event: NAMES[(i * i) % NAMES.length] ?? 'signed_in',
    properties: {
      headline: 'Spring collection',
      count: 3 * i,
      url: `https://app.first.example/results/${i}`,
    },
  }))

/** Weeks of events and a few special ones. */
export async function seedEvents(server: Served): Promise<void> {
  const now = server.clock.now()
  for (let weeks = 25; weeks > 4; weeks--) await sendAt(server, weeks * 7 * DAY, some(weeks * HOUR, 40 - weeks))
  for (let days = 29; days > 2; days--) await sendAt(server, days * DAY, some(days * HOUR, 10 + (days % 7)))
  for (let hours = 47; hours > 0; hours--) {
    await sendAt(server, hours * HOUR, some(now - hours * HOUR, howMany(now - hours * HOUR)))
  }
  await seedPeople(server)
  await seedVisit(server)
  await sendAt(server, 9 * MINUTE, [
    {
      email: 'mallory@example.com',
      event: 'profile_saved',
      properties: { [HOSTILE]: HOSTILE, note: SLY },
    },
    { email: 'grace@example.com', event: 'signed_in' },
  ])
  const nested = {
    url: 'https://app.first.example/results/81',
    headline: 'The first programme',
    count: 12,
    isPublic: true,
    by: { team: 'Engines', lines: [1, 2] },
  }
  await sendAt(server, 2 * MINUTE, [{ email: ADA, event: 'results_ready', properties: nested }])
}

/** Page views from the browser script. */
async function seedVisit(server: Served): Promise<void> {
  const at = server.clock.now() - 20 * MINUTE
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  const paths = ['/', '/results', '/results/81', `/search/${'very-long-'.repeat(40)}`, '/settings']
  const outcome = await store.recordVisitReport({
    accountId: server.first.accountId,
    appId: app?.id ?? 0,
    email: ADA,
    shownEmail: null,
    newPeoplePerMonth: null,
    limits: [],
    createContact: true,
    reportId: 'load.1',
    at,
    items: [
      ...paths.map((path, i) => ({
        type: 'page' as const,
        name: null,
        path,
        occurredAt: at + i * 40_000,
      })),
      {
        type: 'action',
        name: 'opened_chart',
        path: '/results/81',
        occurredAt: at + 200_000,
      },
    ],
  })
  if ('refusal' in outcome) throw new Error(outcome.refusal)
}

async function seedPeople(server: Served): Promise<void> {
  const people = [
    {
      email: ADA,
      firstName: 'Ada',
      lastName: 'Lovelace',
      tags: ['customer', 'beta', 'mathematics', 'poetry'],
      fields: { plan: 'team', seats: 12, isTrial: false },
      source: 'api',
    },
    {
      email: 'mallory@example.com',
      firstName: HOSTILE,
      lastName: SLY.slice(0, 60),
      tags: [SLY.slice(0, 30), 'x'],
    },
  ]
  for (const person of people) {
    const body = { app: server.first.appId, ...person }
    const { status, text } = await server.call('POST', CONTACTS, { body })
    if (status >= 300) throw new Error(`seeding answered ${status}: ${text}`)
  }
}

/** Of the live message, else of the first. */
export async function seedResults(server: Served): Promise<void> {
  const { store } = server.parts()
  const appId = (await store.findAppByPublicId(server.first.appId))?.id ?? 0
  const messages = await store.listMessages(appId)
  const messageId = (messages.find(({ status }) => status === 'live') ?? messages[0])?.id ?? 0
  const emails = Array.from({ length: 171 }, (_, index) => `reader${index}@example.com`)
  for (const some of [emails.slice(0, 100), emails.slice(100)])
    await sendAt(
      server,
      3 * MINUTE,
      some.map((email) => ({ email, event: 'signed_in' })),
    )
  const people = await Promise.all(emails.map((email) => store.findContact(appId, email)))
  const contactIds = people.flatMap((person) => person?.id ?? [])
  if (contactIds.length < emails.length) throw new Error('not all people were created')
  const add = (count: number, row: ResultRow): Promise<void> => {
    const adding = { appId, messageId, at: server.clock.now(), count, contactIds: contactIds.splice(0, count) }
    return addDeliveries(server.folder, adding, row)
  }
  await add(40, { state: 'sent', cameBack: true, opened: true, goal: true })
  await add(60, { state: 'sent' })
  await add(40, { state: 'skipped', reason: 'holdback', heldBack: true })
  await add(30, { state: 'skipped', reason: 'seen' })
  await add(1, { state: 'failed', reason: HOSTILE })
}

/** As many names as the lists of suggestions have, of the length that names have. */
export async function seedNames(server: Served): Promise<void> {
  const names = Array.from({ length: 120 }, (_, index) => `customer_segment_number_${index}`)
  for (let from = 0; from < names.length; from += 40) {
    const some = names.slice(from, from + 40)
    const body = {
      app: server.first.appId,
      email: `names${from}@example.com`,
      tags: some,
      fields: Object.fromEntries(some.map((name) => [name, 'x'])),
    }
    const { status, text } = await server.call('POST', CONTACTS, { body })
    if (status >= 300) throw new Error(`seeding answered ${status}: ${text}`)
  }
  await sendAt(
    server,
    MINUTE,
    names.slice(0, 100).map((event) => ({ email: ADA, event })),
  )
}

/** Results on each of the last days, and their page. */
export async function seedDays(server: Served, days: number): Promise<string> {
  const { store } = server.parts()
  const appId = (await store.findAppByPublicId(server.first.appId))?.id ?? 0
  const [message] = await store.listMessages(appId)
  for (let ago = 0; ago < days; ago += 1) {
    const adding = {
      appId,
      messageId: message?.id ?? 0,
      at: server.clock.now() - ago * DAY,
    }
    await addDeliveries(server.folder, { ...adding, count: 1 }, { state: 'sent', cameBack: true })
    await addDeliveries(server.folder, { ...adding, count: 1 }, { state: 'skipped', reason: 'seen' })
  }
  return `messages/${publicId('msg', message?.id ?? 0)}/results`
}
