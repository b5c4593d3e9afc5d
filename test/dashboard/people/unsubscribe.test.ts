import { beforeEach, describe, expect, test } from 'bun:test'
import { unsubscribeUrl } from '../../../src/people/unsubscribe.ts'
import { CONTACTS } from '../../helper.ts'
import { CONTENT, type Sending, startSending, useSharedSending } from '../../mail/sending.ts'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { textOf } from '../pages.ts'

const open = useSharedSending()
let sending: Sending
beforeEach(async () => {
  sending = await open({ again: { everyHours: 1 } })
})

const ONE_CLICK = { 'Content-Type': 'application/x-www-form-urlencoded' }

async function linkOf(email: string): Promise<string> {
  const contact = await sending.store().findContact(sending.app.id, email)
  const { baseUrl, unsubscribeKey } = sending.parts()
  return unsubscribeUrl(baseUrl, unsubscribeKey, { contactId: contact?.id ?? 0, topicId: null })
}

const get = (url: string) => sending.send(new Request(url))
const post = (url: string, init: RequestInit = {}) =>
  sending.send(new Request(url, { method: 'POST', headers: ONE_CLICK, body: 'List-Unsubscribe=One-Click', ...init }))
const statusOf = async (email: string) => (await sending.store().findContact(sending.app.id, email))?.status

describe('the link in an email', () => {
  test('is in its headers and footer, for that person', async () => {
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    const raw = sending.server.received[0]?.raw ?? ''
    const url = await linkOf('ada@example.com')
    const unfolded = raw.replaceAll(/\r\n[ \t]+/g, ' ')
    expect(unfolded).toContain(`List-Unsubscribe: <${url}>\r\n`)
    expect(unfolded).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n')
    expect(raw).toContain(`Unsubscribe: ${url}`)
  })

  test('changes nothing when it is opened', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    const answer = await get(url)
    expect(answer.status).toBe(200)
    const html = await answer.text()
    expect(html).toContain(`<form method="post" action="${new URL(url).pathname}">`)
    expect(html).not.toContain('ada@example.com')
    expect(await textOf(html, 'main > *')).toEqual([
      'Unsubscribe from first?',
      'first will stop sending these emails to a•••@example.com.',
      'Unsubscribe',
    ])
    for (let time = 0; time < 3; time++) await get(url)
    expect((await sending.send(new Request(url, { method: 'HEAD' }))).status).toBeLessThan(500)
    expect(await statusOf('ada@example.com')).toBe('subscribed')
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
  })

  test.each<[string, RequestInit]>([
    ['as mail programs send it', {}],
    ['by the button of the page', { headers: { ...ONE_CLICK, Origin: 'http://localhost:8080' }, body: '' }],
    [
      'from another site',
      { headers: { ...ONE_CLICK, Origin: 'https://mail.example', 'Sec-Fetch-Site': 'cross-site' } },
    ],
    ['as a form with a file', { headers: {}, body: new FormData() }],
    ['without a body', { headers: {}, body: null }],
  ])('ends email at once, %s, and may be repeated', async (_, init) => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    for (let time = 0; time < 3; time++) {
      const answer = await post(url, init)
      expect(answer.status).toBe(200)
      expect(await textOf(await answer.text(), 'h1')).toEqual(["You're unsubscribed"])
    }
    await sending.sendDue()
    expect(sending.server.received).toEqual([])
    expect(await sending.states()).toEqual({ 'skipped: unsubscribed': 1 })
    expect(await statusOf('ada@example.com')).toBe('unsubscribed')
    sending.clock.tick(2 * 3_600_000)
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(sending.server.received).toEqual([])
  })

  test('is never limited', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    const answers = await Promise.all(Array.from({ length: 300 }, () => post(url)))
    expect(answers.map(({ status }) => status)).toEqual(Array(300).fill(200))
  })

  test('that is invalid does nothing', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    for (const wrong of [`${url}x`, url.slice(0, -1), url.replace(/.{4}$/, 'AAAA')]) {
      expect((await get(wrong)).status).toBe(404)
      expect((await post(wrong)).status).toBe(404)
    }
    expect(await statusOf('ada@example.com')).toBe('subscribed')
  })

  test('of a test email says so, and does nothing', async () => {
    await sending.sendEvent('ada@example.com')
    for (const call of [get, post]) {
      const answer = await call('http://localhost:8080/u/test')
      expect([answer.status, await textOf(await answer.text(), 'h1')]).toEqual([200, ['This was a test email']])
    }
    expect(await statusOf('ada@example.com')).toBe('subscribed')
  })

  test('of an erased person says that it is done', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    const { id: appId, accountId } = sending.app
    const by = { accountId, actor: 'test', at: sending.clock.now() }
    expect(await sending.store().eraseContact({ ...by, appId, email: 'ada@example.com' })).not.toHaveProperty('refusal')
    const done = await post(url)
    expect(done.status).toBe(200)
    expect(await done.text()).toContain("You won't get any more of these emails.")
  })

  test('is in no log', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    const before = sending.logged().length
    await post(url)
    expect(sending.logged().slice(before)).toContain('"method":"POST"')
    expect(sending.logged()).not.toContain(url.slice(-20))
  })
})

describe('taking it back', () => {
  const undo = (url: string) => post(`${url}/undo`)
  const begin = async (): Promise<string> => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    sending.clock.tick(1)
    await post(url)
    return url
  }
  const suppress = (reason: 'bounced' | 'complained') =>
    sending.store().suppress({ appId: sending.app.id, email: 'ada@example.com', reason, at: sending.clock.now() })

  test('is offered to who unsubscribed, at once and later', async () => {
    const url = await begin()
    for (const answer of [await post(url), await get(url)]) {
      expect(await answer.text()).toContain(`action="${new URL(url).pathname}/all/undo"`)
    }
  })

  test('subscribes again, and emails arrive', async () => {
    const url = await begin()
    const answer = await undo(url)
    expect([answer.status, await textOf(await answer.text(), 'h1')]).toEqual([200, ["You're subscribed again"]])
    expect(await statusOf('ada@example.com')).toBe('subscribed')
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
    expect(await textOf(await (await get(url)).text(), 'h1')).toEqual(['Unsubscribe from first?'])
  })

  test.each(['bounced', 'complained'] as const)('does nothing for an address that %s', async (reason) => {
    const url = await begin()
    await suppress(reason)
    expect(await (await get(url)).text()).not.toContain('/undo')
    expect(await textOf(await (await undo(url)).text(), 'h1')).toEqual(["You're unsubscribed"])
    expect(await statusOf('ada@example.com')).toBe(reason)
    expect(await sending.store().findSuppression(sending.app.id, 'ada@example.com')).toBe(reason)
  })

  test('does nothing where a member suppressed the address, or after 30 days', async () => {
    await sending.sendEvent('ada@example.com')
    const url = await linkOf('ada@example.com')
    const { id: appId, accountId } = sending.app
    const by = { accountId, actor: 'mem_1', why: 'phone' }
    const own = { appId, email: 'ada@example.com' }
    sending.clock.tick(1)
    const expectNoUndo = async () => {
      expect(await (await get(url)).text()).not.toContain('/undo')
      expect(await textOf(await (await undo(url)).text(), 'h1')).toEqual(["You're unsubscribed"])
      expect(await statusOf('ada@example.com')).toBe('unsubscribed')
      expect(await sending.store().findSuppression(appId, 'ada@example.com')).toBe('unsubscribed')
    }
    await sending.store().suppress({ ...own, reason: 'unsubscribed', at: sending.clock.now(), by })
    await expectNoUndo()
    await post(url)
    await expectNoUndo()
    sending.clock.tick(1)
    await sending.store().unsuppress({ ...own, at: sending.clock.now(), by })
    sending.clock.tick(1)
    await post(url)
    expect(await (await get(url)).text()).toContain('/undo')
    sending.clock.tick(30 * 86_400_000 + 1)
    await expectNoUndo()
  })

  test('does nothing where a member suppressed the address after the person unsubscribed', async () => {
    const url = await begin()
    const { id: appId, accountId } = sending.app
    const by = { accountId, actor: 'mem_1', why: 'phone' }
    sending.clock.tick(1)
    await sending.store().suppress({
      appId,
      email: 'ada@example.com',
      reason: 'unsubscribed',
      at: sending.clock.now(),
      by,
    })
    expect(await (await get(url)).text()).not.toContain('/undo')
    await undo(url)
    expect(await statusOf('ada@example.com')).toBe('unsubscribed')
  })

  test('is among the changes of the person, as the unsubscribe is, and neither is in the audit log', async () => {
    const url = await begin()
    sending.clock.tick(1)
    for (let time = 0; time < 2; time++) await undo(url)
    const person = await sending.store().findContact(sending.app.id, 'ada@example.com')
    const changes = await sending.store().listContactChanges(person?.id ?? 0, null, 10)
    expect(changes.map(({ actor, change }) => [actor, change.status])).toEqual([
      [null, ['unsubscribed', 'subscribed']],
      [null, ['subscribed', 'unsubscribed']],
    ])
    const query = { accountId: sending.app.accountId, kind: 'all', before: null, limit: 50 } as const
    const entries = await sending.store().listAudit(query)
    expect(entries.filter(({ action }) => action.startsWith('suppression'))).toEqual([])
  })

  test('changes nothing when it is opened, and is in no log', async () => {
    const url = await begin()
    expect((await get(`${url}/undo`)).status).toBe(405)
    await undo(url)
    await get(`${url}/look.css`)
    expect(await statusOf('ada@example.com')).toBe('subscribed')
    expect(sending.logged()).not.toContain(url.slice(-20))
  })

  test('needs a valid link', async () => {
    const url = await begin()
    expect((await undo(url.replace(/.{4}$/, 'AAAA'))).status).toBe(404)
    expect(await statusOf('ada@example.com')).toBe('unsubscribed')
  })
})

test('the page has the logo and the colour of the emails', async () => {
  await sending.sendEvent('ada@example.com')
  const url = await linkOf('ada@example.com')
  expect(await (await get(url)).text()).not.toContain('look.css')
  const { id: appId, accountId } = sending.app
  const settings = { logoUrl: 'https://first.example/logo.png', colour: '#ffdd00' }
  await sending.store().setMailSettings({ accountId, appId, actor: 'test', at: 1, settings })
  const answer = await get(url)
  expect(answer.headers.get('content-security-policy')).toContain("img-src https://first.example 'self' data:;")
  const html = await answer.text()
  expect(html).toContain('src="https://first.example/logo.png"')
  expect(html).toContain(`href="${new URL(url).pathname}/look.css"`)
  const css = await get(`${url}/look.css`)
  expect([css.headers.get('content-type'), await css.text()]).toEqual([
    'text/css; charset=utf-8',
    '.button.primary,.button.primary:hover{background:#ffdd00;color:#000000}\n',
  ])
})

test('the page is in the language of the person, as far as its texts are written', async () => {
  await sending.setSettings({
    texts: {
      lang: null,
      own: {},
      others: {
        de: { askTitle: 'Von {app} abmelden?', askLead: 'Keine E-Mails mehr an {email} <b>', doneTitle: 'Abgemeldet' },
        ar: { undoneTitle: 'أنت مشترك من جديد' },
      },
    },
  })
  const add = (email: string, locale: string) =>
    sending.call('POST', CONTACTS, { body: { newsletter: sending.first.appId, email, fields: { locale } } })
  for (const [email, locale] of [
    ['de@example.com', 'de-AT'],
    ['ar@example.com', 'ar'],
    ['it@example.com', 'it'],
  ] as const)
    expect((await add(email, locale)).status).toBe(201)
  const partsOf = async (answer: Response) => {
    const html = await answer.text()
    return [/<html[^>]*? dir="\w+"/.exec(html)?.[0], ...(await textOf(html, 'main > :not(.buttons)'))]
  }
  const german = await linkOf('de@example.com')
  const opened = await get(german)
  expect(await opened.clone().text()).toContain('Keine E-Mails mehr an d•••@example.com &lt;b>')
  expect(await partsOf(opened)).toEqual([
    '<html lang="de" dir="ltr"',
    'Von first abmelden?',
    'Keine E-Mails mehr an d•••@example.com <b>',
  ])
  expect((await partsOf(await post(german))).slice(0, 3)).toEqual([
    '<html lang="de" dir="ltr"',
    'Abgemeldet',
    'first sendet diese E-Mails nicht mehr an d•••@example.com.',
  ])
  const arabic = await linkOf('ar@example.com')
  sending.clock.tick(1)
  await post(arabic)
  expect((await partsOf(await post(`${arabic}/undo`))).slice(0, 2)).toEqual([
    '<html lang="ar" dir="rtl"',
    'أنت مشترك من جديد',
  ])
  expect((await partsOf(await get(await linkOf('it@example.com')))).slice(0, 2)).toEqual([
    '<html lang="en" dir="ltr"',
    'Unsubscribe from first?',
  ])
})

test('transactional email has no such link, and is still sent', async () => {
  const own = await open({ mail: { ...CONTENT.mail, category: 'transactional' } })
  await own.sendEvent('ada@example.com')
  const contact = await own.store().findContact(own.app.id, 'ada@example.com')
  await own.store().unsubscribe({ contactId: contact?.id ?? 0, at: own.clock.now() })
  await own.sendDue()
  expect(own.server.received).toHaveLength(1)
  expect(own.server.received[0]?.raw).not.toContain('nsubscribe')
})

test('an email handed over just before arrives before the 200', async () => {
  const [handed, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<'accept'>()]
  const dot = () => {
    handed.resolve()
    return taken.promise
  }
  const own = await startSending({}, { dot })
  await own.sendEvent('ada@example.com')
  const running = own.sendDue()
  await handed.promise
  const contact = await own.store().findContact(own.app.id, 'ada@example.com')
  const { baseUrl, unsubscribeKey } = own.parts()
  const url = unsubscribeUrl(baseUrl, unsubscribeKey, { contactId: contact?.id ?? 0, topicId: null })
  let isAnswered = false
  const answering = own.send(new Request(url, { method: 'POST' })).then(({ status }) => {
    isAnswered = true
    return status
  })
  await Bun.sleep(100)
  expect([isAnswered, own.server.received.length]).toEqual([false, 0])
  taken.resolve('accept')
  expect(await answering).toBe(200)
  expect(own.server.received).toHaveLength(1)
  await running
  await own.close()
})

test('while hundreds are being sent, no email arrives after the 200', async () => {
  const slow = await startSending()
  await slow.setSettings({ perSecond: 10_000 })
  await slow.sendEvents(300)
  const running = slow.sendDue()
  const after: { email: string; at: number }[] = []
  const begun = (async () => {
    while (slow.server.received.length < 30) await Bun.sleep(2)
  })()
  // unsubscribe from the end of the queue, to meet the sender in the middle
  const leave = async (index: number): Promise<void> => {
    const email = `p${index}@example.com`
    await begun
    await Bun.sleep((300 - index) * 3)
    const contact = await slow.store().findContact(slow.app.id, email)
    const { baseUrl, unsubscribeKey } = slow.parts()
    const url = unsubscribeUrl(baseUrl, unsubscribeKey, { contactId: contact?.id ?? 0, topicId: null })
    const ask = async (): Promise<number> => (await slow.send(new Request(url, { method: 'POST' }))).status
    let status = await ask()
    // a busy PostgreSQL may not save everything in time
    while (isOnPostgres && status === 503) status = await ask()
    expect(status).toBe(200)
    after.push({ email, at: performance.now() })
  }
  await Promise.all([running, ...Array.from({ length: 300 }, (_, index) => leave(index))])
  const times = new Map(slow.server.received.map(({ to, at }) => [to[0], at]))
  const late = after.filter(({ email, at }) => (times.get(email) ?? 0) > at)
  expect(late).toEqual([])
  // some unsubscribed before their email, some after
  expect(times.size).toBeGreaterThan(20)
  expect(times.size).toBeLessThan(280)
  await slow.close()
})

test('the page has the language of the emails without any setup, but not that of a draft', async () => {
  const text = { subject: 'Hello', body: 'Hello' }
  const saveAs = (name: string, status: 'live' | 'draft', language: string) => {
    const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
    const content = { trigger: { event: name }, mail: { ...text, variants: { [language]: text } } }
    return sending.store().saveMessages({ ...by, drafts: [{ id: null, name, status, content }] })
  }
  await saveAs('One', 'live', 'de')
  await saveAs('Two', 'draft', 'es')
  const seenBy = async (locale: string) => {
    const email = `${locale.toLowerCase()}@example.com`
    const body = { newsletter: sending.first.appId, email, fields: { locale } }
    expect((await sending.call('POST', CONTACTS, { body })).status).toBe(201)
    const html = await (await get(await linkOf(email))).text()
    return [/lang="[\w-]+"/.exec(html)?.[0], ...(await textOf(html, 'h1, main button'))]
  }
  expect(await seenBy('de-AT')).toEqual(['lang="de"', 'E-Mails von first abbestellen?', 'Abbestellen'])
  for (const locale of ['es', 'fr'])
    expect(await seenBy(locale)).toEqual(['lang="en"', 'Unsubscribe from first?', 'Unsubscribe'])
})
