import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { publicId } from '../../../src/core/ids.ts'
import { cancelDelivery } from '../../../src/deliveries/delivery-lists.ts'
import { SPREAD } from '../../../src/mail/marks.ts'
import type { DeliveryRow, MailSettings, MessageContent, SuppressionReason } from '../../../src/store/message-types.ts'
import { type Behaviour, startMailServer } from '../../mail/mail-server.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { DAY, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
const closing: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await pages.close()
})

const BOB = 'bob@example.com'
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const set = (settings: Partial<MailSettings>) =>
  pages.store.setMailSettings({ accountId: app.accountId, appId: app.id, actor: 'test', at: 1, settings })
const useMailServer = async (behaviour: Behaviour = {}) => {
  const server = await startMailServer(behaviour)
  closing.push(server.stop)
  await set({ smtpUrl: server.url })
  return server
}
const newest = async (): Promise<DeliveryRow> => {
  const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 1 }
  const [delivery] = await pages.store.listDeliveries(query)
  if (!delivery) throw new Error('there is no delivery')
  return delivery
}
/** Triggers a message, sends what is due and returns the delivery's path. */
const trigger = async (content: Partial<MessageContent> = {}): Promise<string> => {
  await putMessage(pages, { app, content: { ...MAIL, ...content } })
  await sendEvent(pages, { app, email: BOB })
  await sendDue(pages)
  return pages.at(`deliveries/${publicId('dlv', (await newest()).id)}`)
}
const suppress = (reason: SuppressionReason) =>
  pages.store.suppress({ appId: app.id, email: BOB, reason, at: pages.clock.now() })
/** Signs in again, because the session expired. */
const wait = async (ms: number): Promise<void> => {
  pages.clock.ms += ms
  browser = await pages.signedIn()
}
const see = async (path: string) => (await browser.get(path)).html
const offeredOn = async (path: string) => textOf(await see(path), '#resend form button')
const moments = async (path: string) => textOf(await see(path), '.timeline li span')
const kept = async () => textOf(await see(pages.at('outbox')), 'td[data-label=To]')

describe('a captured email', () => {
  test('is not sent with unreadable settings, and is not lost', async () => {
    const path = await trigger()
    await set({ smtpUrl: 'nonsense' })
    expect(await offeredOn(path)).toEqual([])
    expect(await textOf(await see(path), '.notice.problem')).toEqual([
      "Problem: The saved mail server settings can't be read, so no email is sent. Set up the mail server again.",
    ])
    const { status, html } = await browser.post(`${path}/resend`)
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([409, expect.stringContaining('is invalid')])
    await sendDue(pages)
    expect([(await newest()).state, await kept()]).toEqual(['kept', [BOB]])
  })

  test.each<[string, Partial<MailSettings>, string]>([
    ['its address is set wrongly', { smtpUrl: 'nonsense' }, 'skipped smtp_url'],
    ['nobody is there until it is given up', { smtpUrl: 'smtp://127.0.0.1:1', giveUpHours: 1 }, 'failed erefused'],
  ])('stays in the outbox when it was resent and %s', async (_, settings, ended) => {
    const path = await trigger()
    const server = await useMailServer()
    expect((await browser.post(`${path}/resend`)).status).toBe(303)
    await set(settings)
    for (let tried = 0; tried < 6; tried += 1) {
      await sendDue(pages)
      await wait(20 * MINUTE)
    }
    const { state, reason } = await newest()
    expect([`${state} ${reason}`, await kept()]).toEqual([ended, [BOB]])
    expect(await textOf(await see(path), '#mail > .hint')).toEqual([expect.stringContaining('Captured on')])
    await set({ smtpUrl: server.url, giveUpHours: null })
    expect((await browser.post(`${path}/resend`)).status).toBe(303)
    await sendDue(pages)
    expect([server.received.length, await kept()]).toEqual([1, []])
  })

  test('leaves the outbox when the person unsubscribes meanwhile', async () => {
    const path = await trigger()
    await useMailServer()
    await browser.post(`${path}/resend`)
    await suppress('unsubscribed')
    await sendDue(pages)
    expect([(await newest()).state, await kept()]).toEqual(['skipped', []])
  })
})

describe('resending is not offered, with a reason,', () => {
  test.each<[SuppressionReason, string]>([
    ['unsubscribed', "This email can't be sent: the person unsubscribed."],
    ['bounced', "This email can't be sent: the address bounced."],
    ['complained', "This email can't be sent: the person reported an email as spam."],
  ])('if the person is %s', async (reason, sentence) => {
    const path = await trigger({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    expect(await offeredOn(path)).toEqual(['Send it anyway'])
    await suppress(reason)
    expect([await offeredOn(path), await textOf(await see(path), '.page-head p.hint')]).toEqual([
      [],
      [`${sentence} Suppressions`],
    ])
  })

  test('but a transactional email still goes to an unsubscribed person', async () => {
    const mail = { ...MAIL.mail, category: 'transactional' as const }
    const path = await trigger({ mail, onlyIf: [{ rule: 'tag', has: 'beta' }] })
    await suppress('unsubscribed')
    expect(await offeredOn(path)).toEqual(['Send it anyway'])
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    expect((await newest()).state).toBe('kept')
  })
})

test('is refused while another email of the message is on its way', async () => {
  const path = await trigger({ again: { everyHours: 24 }, onlyIf: [{ rule: 'tag', has: 'beta' }] })
  await sendEvent(pages, { app, email: BOB })
  const { status, html } = await browser.post(`${path}/resend`)
  expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
    409,
    expect.stringContaining('Another email from this message was already sent to this person'),
  ])
})

test('an email resent after an unknown outcome always says so', async () => {
  let dots = 0
  await useMailServer({ dot: () => (dots++ === 0 ? 'drop' : 'accept') })
  const path = await trigger({ ifUnconfirmed: 'leave' })
  expect((await newest()).state).toBe('unknown')
  await browser.post(`${path}/resend`)
  await sendDue(pages)
  expect((await newest()).state).toBe('sent')
  const [why = ''] = await textOf(await see(path), '.page-head .lead bdi')
  expect(why).toMatch(
    /^It was sent on .+\. It may have arrived twice: the mail server didn't confirm the attempt on .+/,
  )
})

describe('the confirmation', () => {
  const asked = async (path: string) => (await textOf(await see(path), '#resend > p')).slice(1)

  test('says that the email may have arrived already', async () => {
    await useMailServer({ dot: () => 'drop' })
    const path = await trigger({ ifUnconfirmed: 'leave' })
    expect((await newest()).state).toBe('unknown')
    expect(await asked(path)).toEqual(['They may already have received it.'])
  })

  test('says when an email is or was resent automatically', async () => {
    const path = await trigger({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    expect(await asked(path)).toEqual([])
    await useMailServer({ dot: () => 'drop' })
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    expect((await newest()).state).toBe('unknown')
    expect(await asked(path)).toEqual([
      'They may already have received it twice.',
      "It was already resent once, because delivery wasn't confirmed.",
    ])
  })
})

describe('afterwards', () => {
  test('the page shows when it was captured, resent and sent', async () => {
    const path = await trigger()
    expect(await moments(path)).toEqual(['Captured in the outbox', 'Rules checked', 'results_ready happened'])
    await useMailServer()
    await wait(DAY)
    await browser.post(`${path}/resend`)
    const before = ['ada@example.com sent it', 'Captured in the outbox', 'Rules checked', 'results_ready happened']
    expect(await moments(path)).toEqual(['It will be sent', ...before])
    expect((await textOf(await see(path), '.timeline time'))[0]).toBe('now')
    pages.clock.ms += MINUTE
    await sendDue(pages)
    expect(await moments(path)).toEqual(['Sent', 'Handed over', ...before])
  })

  test('a deferred email says that it is tried again', async () => {
    await useMailServer({ recipient: () => 451 })
    const path = await trigger()
    expect(await moments(path)).toEqual(['Next attempt', 'Rules checked', 'results_ready happened'])
    const { html } = await browser.get(path)
    expect(new Set(await textOf(html, 'td .badge'))).toEqual(new Set(['Send']))
    expect(await textOf(html, '.values .badge')).toEqual(['Deferred'])
    expect((await textOf(html, 'aside .values div')).filter((text) => /^(Next|Deferred)/.test(text))).toEqual([
      // up to a fifth before the minute is over
      expect.stringMatching(/^Next attempt3 May 2026, 12:0[01] UTC$/),
      'DeferredOnce',
    ])
    const rowsOf = async (state: string) =>
      textOf(await see(`${pages.at('deliveries')}?state=${state}`), '.feed .badge')
    expect([await rowsOf('pending'), await rowsOf('deferred'), await rowsOf('sent')]).toEqual([
      ['Deferred'],
      ['Deferred'],
      [],
    ])
    await wait(MINUTE / 2)
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    expect((await moments(path)).slice(0, 2)).toEqual(['Next attempt', 'ada@example.com sent it'])
  })

  test('an email over a limit waits, and a held-back one says what sending it does to the comparison', async () => {
    await useMailServer()
    await trigger()
    await putMessage(pages, { app, name: 'Second' })
    await set({ perPersonDay: 1 })
    await sendEvent(pages, { app, email: 'bob@example.com' })
    await sendDue(pages)
    const path = pages.at(`deliveries/${publicId('dlv', (await newest()).id)}`)
    const html = await see(path)
    expect(await textOf(html, '.page-head .badge, .values .badge')).toEqual(['Waiting'])
    expect(await textOf(html, '.page-head .lead')).toEqual([
      'bob@example.com already got 1 email in the previous 24 hours (limit: 1). The next check is on 4 May 2026, 12:00 UTC. Hours and limits',
    ])
    const facts = await textOf(html, 'aside .values dt')
    expect(facts).toContain('Next check')
    expect(facts).not.toContain('Deferred')
    const rowsOf = async (state: string) =>
      textOf(await see(`${pages.at('deliveries')}?state=${state}`), '.feed .badge')
    expect([await rowsOf('pending'), await rowsOf('waiting'), await rowsOf('skipped')]).toEqual([
      ['Waiting'],
      ['Waiting'],
      [],
    ])
    expect(await textOf(html, 'td .badge')).toContain('Wait')
    expect(await textOf(html, 'td .badge')).not.toContain("Don't send")
    expect((await moments(path))[0]).toBe('Next check')
    expect(await textOf(html, 'main [popovertarget]:not(.close)')).toEqual([
      'Check and send now',
      'Send it anyway',
      'Cancel this email',
    ])
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    const sent = await see(path)
    expect((await textOf(sent, '.page-head .lead bdi'))[0]).toContain(
      `It was delayed on 3 May 2026, 12:00 UTC: ${BOB} received 1 lifecycle email in the previous 24 hours, but this app sends at most 1 a day. ada@example.com sent it anyway on 3 May 2026, 12:00 UTC.`,
    )
    expect(await textOf(sent, 'td .badge')).toContain('Wait')
    expect(await textOf(sent, 'td .badge')).not.toContain("Don't send")
    expect(await moments(path)).toContain('ada@example.com sent it anyway')
    expect(await moments(path)).toContain('Waited: Daily limit reached')
    await set({ perPersonDay: null })
    const messageId = await putMessage(pages, { app, name: 'Third', content: { ...MAIL, holdback: 50 } })
    for (let nth = 0; nth < 12; nth += 1) await sendEvent(pages, { app, email: `p${nth}@example.com` })
    await sendDue(pages)
    const query = { appId: app.id, messageId, contactId: null, states: null, before: null, limit: 20 }
    const held = (await pages.store.listDeliveries(query)).find(({ reason }) => reason === 'holdback')
    const page = await see(pages.at(`deliveries/${publicId('dlv', held?.id ?? 0)}`))
    expect(await textOf(page, 'td[data-label=Rule]')).toContain('Holdback')
    expect((await textOf(page, '#resend p')).join(' ')).toContain(
      'This person stays in the holdback group, so the comparison in Results becomes less accurate.',
    )
  })

  test('the subscription and the rules show their own times', async () => {
    const path = await trigger()
    await useMailServer()
    await wait(5 * DAY)
    await suppress('unsubscribed')
    await wait(5 * DAY)
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    const html = await see(path)
    expect((await textOf(html, '.hint'))[1]).toBe(
      'Checked on 3 May 2026, 12:00 UTC, with a final check on 13 May 2026, 12:00 UTC.',
    )
    expect((await textOf(html, '.page-head .lead bdi'))[0]).toBe(`${BOB} unsubscribed.`)
    expect((await textOf(html, 'td[data-label="Finding"]'))[0]).toBe(`${BOB} unsubscribed.`)
    expect(await textOf(html, 'td .badge')).toEqual(["Don't send", 'Send'])
  })

  test('after an unsubscribe, reason and rules agree', async () => {
    await useMailServer({ recipient: () => 451 })
    const path = await trigger()
    await wait(MINUTE / 2)
    await suppress('unsubscribed')
    const html = await see(path)
    expect((await textOf(html, '.page-head .lead bdi'))[0]).toBe(`${BOB} unsubscribed.`)
    expect((await textOf(html, 'td[data-label="Finding"]'))[0]).toBe(`${BOB} unsubscribed.`)
    expect(await textOf(html, 'td .badge')).toEqual(["Don't send", 'Send'])
  })

  test('the retry delays start over', async () => {
    await useMailServer({ recipient: () => 451 })
    const path = await trigger()
    while ((await newest()).state === 'deferred') {
      pages.clock.ms = (await newest()).dueAt
      await sendDue(pages)
    }
    const { state, attempt } = await newest()
    expect(state).toBe('failed')
    await wait(HOUR)
    await browser.post(`${path}/resend`)
    const pauses: number[] = []
    for (let tried = 0; tried < 3; tried += 1) {
      await sendDue(pages)
      pauses.push(((await newest()).dueAt - pages.clock.ms) / MINUTE)
      pages.clock.ms = (await newest()).dueAt
    }
    for (const [index, longest] of [1, 5, 15].entries())
      expect(pauses[index]).toBeWithin(longest * (1 - SPREAD), longest + 0.01)
    // claims are identified by their number
    expect((await newest()).attempt).toBe(attempt + 3)
  })
})

describe('an email that waits', () => {
  const WAITING: Partial<MessageContent> = { wait: { minutes: 60 } }
  const offered = async (path: string) => textOf(await see(path), '.page-head .button:not(.close)')
  const audited = async () =>
    (await pages.store.listAudit({ accountId: app.accountId, kind: 'changes', before: null, limit: 9 })).map(
      ({ action, subject, actor }) => [action, subject, actor],
    )
  const why = async (path: string) => (await textOf(await see(path), '.page-head .lead bdi')).join('')

  test('names the API key that cancelled it', async () => {
    const path = await trigger(WAITING)
    const [key] = await pages.store.listKeys(app.accountId)
    if (!key) throw new Error('there is no key')
    await cancelDelivery(pages, app, { id: (await newest()).id, actor: key.id })
    expect(await why(path)).toBe(`API key ${key.name} cancelled this email.`)
    expect(await textOf(await see(path), '.empty b, .empty p')).toContain(
      'This delivery ended before its rules were checked.',
    )
    await browser.post(`${path}/resend`)
    expect(await textOf(await see(path), '.empty p')).toEqual([
      'A member or an API key started this email, so its rules are not checked.',
    ])
  })

  test.each<[MessageContent['trigger'], string]>([
    [MAIL.trigger, `${BOB} won't get it. A later event can trigger the message again.`],
    [{ contact: 'created' }, `${BOB} won't get it.`],
  ])('says what cancelling leads to: %j', async (by, said) => {
    const path = await trigger({ ...WAITING, trigger: by })
    expect((await textOf(await see(path), '#cancel p'))[0]).toBe(said)
  })

  test('is cancelled by a member, who is named, and is not sent', async () => {
    const path = await trigger(WAITING)
    expect(await offered(path)).toEqual([
      'Check and send now',
      'Check and send now',
      'Cancel this email',
      'Cancel this email',
    ])
    const { status, location } = await browser.submit(path, `${path}/cancel`)
    expect([status, location]).toEqual([303, path])
    const html = await see(path)
    expect(await textOf(html, '[role=status] > .notice')).toEqual(['Done: The email was cancelled.'])
    expect([await why(path), await offeredOn(path)]).toEqual([
      'ada@example.com cancelled this email.',
      ['Send it anyway'],
    ])
    expect(await moments(path)).toContain('ada@example.com cancelled it')
    await wait(2 * HOUR)
    await sendDue(pages)
    expect([(await newest()).state, (await newest()).reason, await kept()]).toEqual(['skipped', 'cancelled', []])
    const id = publicId('dlv', (await newest()).id)
    expect(await audited()).toContainEqual(['delivery.cancel', id, expect.stringMatching(/^mem_/)])
    const again = await browser.post(`${path}/cancel`)
    expect([again.status, (await textOf(again.html, '[role=alert]')).join()]).toEqual([
      409,
      expect.stringContaining('is being sent, or its state is final'),
    ])
  })

  test('is not offered early to a person who may not get it', async () => {
    const path = await trigger(WAITING)
    const person = await pages.store.findContact(app.id, BOB)
    expect(await textOf(await see(path), '#send-now h2')).toEqual([`Send this email to ${BOB} now?`])
    const end = `UPDATE contacts SET status = 'unsubscribed' WHERE id = ?`
    await withSql(pages.folder, async (sql) => await sql.prepare(end).run(person?.id ?? 0))
    expect(await offered(path)).toEqual(['Cancel this email', 'Cancel this email'])
  })

  test('does not use up the message when it is cancelled', async () => {
    await trigger(WAITING)
    const first = await newest()
    await browser.post(`${pages.at(`deliveries/${publicId('dlv', first.id)}`)}/cancel`)
    await sendEvent(pages, { app, email: BOB })
    expect([(await newest()).id > first.id, (await newest()).state]).toEqual([true, 'waiting'])
  })

  test('is cancelled with its other events, and while it is retried', async () => {
    const again = { once: 'property', property: 'n', collect: { minutes: 30 } } as const
    await putMessage(pages, { app, content: { ...MAIL, ...WAITING, again } })
    for (const n of [1, 2]) await sendEvent(pages, { app, email: BOB, properties: { headline: 'x', n } })
    const joined = await newest()
    const path = pages.at(`deliveries/${publicId('dlv', joined.joinedTo ?? 0)}`)
    expect(await textOf(await see(path), '#cancel p')).toContain('The other events in this email are cancelled, too.')
    await browser.post(`${path}/cancel`)
    const ended = await pages.store.listDeliveriesById([joined.id, joined.joinedTo ?? 0])
    expect(ended.map(({ state, reason }) => `${state} ${reason}`)).toEqual(Array(2).fill('skipped cancelled'))
    await set({ smtpUrl: 'smtp://127.0.0.1:1' })
    await sendEvent(pages, { app, email: 'eve@example.com', properties: { headline: 'x', n: 3 } })
    await wait(HOUR)
    await sendDue(pages)
    const deferred = pages.at(`deliveries/${publicId('dlv', (await newest()).id)}`)
    expect((await newest()).state).toBe('deferred')
    expect((await browser.post(`${deferred}/cancel`)).status).toBe(303)
    expect((await newest()).reason).toBe('cancelled')
  })

  test('is lost by a sender that had claimed it', async () => {
    await putMessage(pages, { app, content: MAIL })
    await sendEvent(pages, { app, email: BOB })
    const at = pages.clock.now()
    const claimed = await pages.store.claimDeliveries({ claimedBy: 'a', now: at, leaseMs: HOUR, most: 1, skipApps: [] })
    const id = ('works' in claimed && claimed.works[0]?.delivery.id) || 0
    expect((await browser.post(`${pages.at(`deliveries/${publicId('dlv', id)}`)}/cancel`)).status).toBe(303)
    const record = JSON.stringify({ at, verdicts: [] })
    expect(await pages.store.markHanded({ id, claimedBy: 'a', attempt: 1, at, record })).toEqual({
      isMarked: false,
      because: 'lost',
    })
    expect((await browser.post(`${pages.at(`deliveries/${publicId('dlv', id)}`)}/send-now`)).status).toBe(409)
  })

  test.each<[string, Partial<MessageContent>, string]>([
    ['sent', {}, 'kept'],
    ['skipped if a rule stops it', { onlyIf: [{ rule: 'tag', has: 'beta' }] }, 'skipped'],
  ])('is decided early, and %s', async (_, content, state) => {
    const path = await trigger({ ...WAITING, ...content })
    const { status, location } = await browser.submit(path, `${path}/send-now`)
    expect([status, location]).toEqual([303, path])
    expect(await textOf(await see(path), '[role=status] > .notice')).toEqual([
      'Done: The email was queued. If a check stops it, this page says why.',
    ])
    await sendDue(pages)
    expect((await newest()).state).toBe(state as 'kept')
    expect((await audited()).map(([action]) => action)).toContain('delivery.send_early')
    expect((await browser.post(`${path}/send-now`)).status).toBe(409)
  })

  test('is not offered to viewers, nor changed by another account', async () => {
    const path = await trigger(WAITING)
    await pages.addMember('vic@example.com', 'viewer')
    const viewer = await pages.signedIn('vic@example.com')
    expect(await textOf((await viewer.get(path)).html, '.page-head .button')).toEqual([])
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    const id = publicId('dlv', (await newest()).id)
    for (const action of ['cancel', 'send-now']) {
      expect((await viewer.post(`${path}/${action}`)).status).toBe(403)
      expect((await eve.post(`${path}/${action}`)).status).toBe(404)
      expect((await eve.post(`/apps/${other.appId}/deliveries/${id}/${action}`)).status).toBe(404)
    }
    expect((await newest()).state).toBe('waiting')
  })
})
