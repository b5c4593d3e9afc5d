import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { describe, expect, test } from 'bun:test'
import { EMAILS_FILE } from '../../../src/docs/samples.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { attributesOf, expectHarmless, HOSTILE, SAME_ORIGIN, textOf } from '../pages.ts'
import { inTurns } from '../../helper.ts'

const pages = useEditing()

const see = async () => (await pages.browser.get(pages.at('messages'))).html

describe('the messages', () => {
  test('start with two drafts', async () => {
    const html = await see()
    expect(await textOf(html, '.lead')).toEqual(['No message is live, so no emails are sent automatically.'])
    expect(await textOf(html, '.message-name')).toEqual(['Results ready, they left', 'Results not opened yet'])
    expect(await textOf(html, 'td p.hint')).toEqual([
      'When results_ready arrives, 10 minutes later',
      'When results_ready arrives, 1 day later',
    ])
    expect(await textOf(html, 'td .badge')).toEqual(['Draft', 'Draft'])
    expect(await attributesOf(html, '.message-name', 'href')).toContain(pages.path)
    expect(await attributesOf(html, '.page-head a', 'href')).toEqual([pages.at('messages/new')])
  })

  test('show the results of each', async () => {
    await pages.press(pages.path, 'live')
    for (const email of ['a@example.com', 'b@example.com', 'c@example.com']) {
      await pages.event({ email, properties: { url: 'https://app.example.com/results' } })
    }
    const cells = () => see().then((html) => textOf(html, 'tbody tr:first-child .number'))
    expect(await cells()).toEqual(['3', '–', '–', '–', '–', '–'])
    pages.clock.ms += 3_600_000
    const claiming = { claimedBy: 't', now: pages.clock.ms, leaseMs: 60_000, most: 2, skipApps: [] }
    const claimed = await pages.store.claimDeliveries(claiming)
    if ('refusal' in claimed) throw new Error(claimed.refusal)
    const [sent, skipped] = claimed.works.map(({ delivery: { id, attempt } }) => ({
      id,
      claimedBy: 't',
      attempt,
      at: pages.clock.ms,
    }))
    if (!sent || !skipped) throw new Error('nothing was claimed')
    await pages.store.markHanded({ ...sent, record: '{"at":0,"verdicts":[]}' })
    await pages.store.markSent(sent)
    await pages.store.markSkipped({ ...skipped, reason: 'seen', record: '{"at":0,"verdicts":[]}' })
    expect(await cells()).toEqual(['1', '1', '0 0%', '0 0%', '1', '–'])
    const leadTo = await attributesOf(await see(), 'tbody tr:first-child .number a', 'href')
    expect(leadTo.map((href) => new URLSearchParams(href?.split('?')[1]).get('state'))).toEqual([
      'pending',
      'left',
      'unsent',
    ])
    for (const href of leadTo) {
      expect(await textOf((await pages.browser.get(href ?? '')).html, '.feed .who')).toHaveLength(1)
    }
  })

  test('are on pages of 20, and the page of a person folds all but eight', async () => {
    const [draft] = await pages.messages()
    if (!draft) throw new Error('no draft')
    const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() }
    const drafts = Array.from({ length: 21 }, (_, nth) => ({ name: `Copy ${nth}`, content: draft.content }))
    await pages.store.saveMessages({ ...by, drafts: drafts.map((one) => ({ ...draft, ...one, id: null })) })
    const html = await see()
    expect(await textOf(html, '.message-name')).toHaveLength(20)
    const [next] = await attributesOf(html, '.pager a', 'href')
    const second = (await pages.browser.get(next ?? '')).html
    expect(await textOf(second, '.message-name')).toEqual(['Copy 18', 'Copy 19', 'Copy 20'])
    expect(await attributesOf(second, '.pager a', 'href')).toEqual([pages.at('messages')])
    await pages.event()
    const [person] = await attributesOf((await pages.browser.get(pages.at('people'))).html, 'a[href*="/con_"]', 'href')
    const page = (await pages.browser.get(person ?? '')).html
    expect(await textOf(page, '#mail > ul > li')).toHaveLength(8)
    expect(await textOf(page, '#mail summary')).toEqual(['15 more messages'])
    expect(await textOf(page, '#mail details li')).toHaveLength(15)
  })

  test('show an empty state with the next step', async () => {
    const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.messages()) await pages.store.deleteMessage({ ...by, id })
    const html = await see()
    expect(await textOf(html, '.empty h2')).toEqual(['No messages'])
    expect(await attributesOf(html, '.empty a', 'href')).toEqual([pages.at('messages/new')])
  })

  test('hostile names are text, here and in the editor', async () => {
    await pages.press(pages.path, 'save', { name: HOSTILE.slice(0, 90), 'mail.body': HOSTILE, 'mail.subject': 'S' })
    await expectHarmless(await see())
    const { html } = await pages.browser.get(pages.path)
    await expectHarmless(html)
    expect(await textOf(html, 'h1')).toEqual([HOSTILE.slice(0, 90)])
    await expectHarmless((await pages.browser.get(`${pages.path}/versions`)).html)
  })

  test('do not offer a new one to viewers; unknown ones are 404', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const { html } = await (await pages.signedIn('eve@example.com')).get(pages.at('messages'))
    expect(html).not.toContain('New message')
    for (const unknown of ['msg_1', 'con_1', 'nothing', 'msg_00000000000000000000']) {
      expect((await pages.browser.get(pages.at(`messages/${unknown}`))).status).toBe(404)
      expect((await pages.browser.post(pages.at(`messages/${unknown}`), { do: 'live' })).status).toBe(404)
    }
  })
})

describe('the editor', () => {
  test('offers names of real events and properties', async () => {
    await pages.event({ properties: { url: 'https://app.example.com/1', [HOSTILE]: 1 } })
    await pages.event({ event: 'paid' })
    const { html } = await pages.browser.get(pages.path)
    await expectHarmless(html)
    const names = await attributesOf(html, '#event-names option', 'value')
    expect(names.toSorted()).toEqual(['paid', 'results_ready'])
    expect(await attributesOf(html, '#property-names option', 'value')).toEqual([HOSTILE, 'url'])
    expect(await attributesOf(html, '[name="trigger.event"]', 'list')).toEqual(['event-names'])
  })

  test('saves with Enter', async () => {
    const { html } = await pages.browser.get(pages.path)
    const buttons = await attributesOf(html, '[form=editor][type=submit], #editor button[type=submit]', 'value')
    expect(buttons.slice(0, 2)).toEqual(['save', 'live'])
  })

  test('an email is framed under its own policy, for members of the account only', async () => {
    const { html } = await pages.browser.get(pages.path)
    const [src = ''] = await attributesOf(html, 'iframe', 'src')
    const frame = await pages.browser.get(src ?? '')
    expect(frame.status).toBe(200)
    expect(frame.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'.*; sandbox /,
    )
    expect(frame.html).toContain('See your results')
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.get(src ?? '')).status).toBe(404)
    const theirs = (src ?? '').replace(pages.begun.appId, other.appId)
    const gone = await eve.get(theirs)
    expect(gone.html).toContain('This preview has expired')
    expect(gone.html).not.toContain('results')
    expect((await pages.get(src ?? '')).status).toBe(303)
  })

  test('drops the oldest emails, not the newest', async () => {
    const srcs: string[] = []
    for (let i = 0; i < 66; i++) {
      const body = new URLSearchParams({ 'mail.subject': 'S', 'mail.body': `B${i}`, trigger: 'contact' })
      const headers = { ...SAME_ORIGIN, Cookie: [...pages.browser.cookies].map((one) => one.join('=')).join('; ') }
      const answer = await pages.handle(`${pages.path}/preview`, { method: 'POST', body, headers })
      const { mail } = await answer.json()
      srcs.push(mail.src)
    }
    const shown = [0, 1, 2, 65].map(async (index) =>
      (await pages.browser.get(srcs[index] ?? '')).html.includes(`B${index}`),
    )
    expect(await Promise.all(shown)).toEqual([false, false, true, true])
  })
})

describe('the preview while typing', () => {
  const ask = async (fields: Record<string, string>, as = pages.browser) => {
    const { status, html } = await as.post(`${pages.path}/preview`, { trigger: 'event', ...fields })
    return { status, shown: status === 200 ? JSON.parse(html) : null }
  }
  const WORDS = { 'trigger.event': 'results_ready', 'mail.subject': '{{ event.headline }}', 'mail.body': 'Hello' }

  test('shows the latest or the chosen person', async () => {
    await pages.event({ email: 'a@example.com', properties: { headline: 'First' } })
    pages.clock.ms += 60_000
    await pages.event({ email: 'b@example.com', properties: { headline: `Second <b>&${HOSTILE}` } })
    const { shown } = await ask(WORDS)
    expect(shown.mail.subject).toStartWith('<bdi>Second &lt;b>&amp;')
    expect(shown.mail.from).toBe('<bdi>Demo &lt;hello@first.example></bdi>')
    expect(await textOf(shown.fragments.sample, 'option')).toEqual([
      'b@example.com, just now',
      'a@example.com, 1 minute ago',
    ])
    const older = (await attributesOf(shown.fragments.sample, 'option', 'value'))[1] ?? ''
    expect((await ask({ ...WORDS, sample: older })).shown.mail.subject).toBe('<bdi>First</bdi>')
    expect(shown.fragments['go-live-says']).toContain('Each person gets it once')
  })

  test('shows a made-up person if there is none, and says so', async () => {
    const { shown } = await ask({ ...WORDS, 'trigger.event': 'paid', 'mail.body': '{{ event.total }}' })
    expect(shown.fragments['preview-said']).toContain('sample values')
    expect([shown.mail.subject, shown.mail.text]).toEqual([
      '<bdi>Your 12 pictures are ready</bdi>',
      expect.stringContaining('$49.00'),
    ])
  })

  test('of a made-up person warns about the missing domain, not the made-up link', async () => {
    const body = '[See it]({{ event.url }})'
    const said = async () =>
      (await ask({ ...WORDS, 'trigger.event': 'paid', 'mail.body': body })).shown.fragments['preview-said']
    const linked = await said()
    expect([pages.app.hosts.length > 0, linked.includes('notice')]).toEqual([true, false])
    const { name, timezone, locale } = pages.app
    const settings = {
      name,
      timezone,
      locale,
      homeUrl: null,
      hosts: [],
      snippet: { hosts: [], addsPeople: false },
      retention: DEFAULT_RETENTION,
    }
    const by = { accountId: pages.begun.accountId, actor: 'test', at: pages.clock.now() }
    await pages.store.updateApp({ ...by, appId: pages.app.id, settings })
    expect(await textOf(await said(), '.notice')).toEqual([expect.stringContaining('This app has no domains yet')])
    expect(await said()).not.toContain('example.com')
  })

  test.each([
    ['{{ event.headline }}', 'event.headline has neither a value nor a fallback'],
    [
      '{{ event.headline | default: "" }}',
      'event.headline has no value in the event from bob@example.com, and an empty fallback counts as none, so the email',
    ],
    ['{{ event.headline', 'Fix the subject to see the email.'],
    ['', 'Add a subject and text'],
    [`{{ ${HOSTILE} }}`, 'Fix the subject to see the email.'],
    ['{{ contact.fristName }}', 'Fix the subject to see the email.'],
  ])('says why there is no email for %p', async (subject, sentence) => {
    await pages.event()
    const { status, shown } = await ask({ ...WORDS, 'mail.subject': subject })
    expect([status, shown.mail]).toEqual([200, null])
    expect(shown.fragments['preview-said']).toContain(sentence)
    expect(await attributesOf(shown.fragments['preview-said'], 'script, img', 'src')).toEqual([])
  })

  test('says why a suppressed person gets no email', async () => {
    await pages.event({ email: 'ada@example.com', properties: { headline: 'H' } })
    const by = { appId: pages.app.id, email: 'ada@example.com', at: pages.clock.now() }
    await pages.store.suppress({ ...by, reason: 'complained' })
    const { shown } = await ask(WORDS)
    expect(shown.mail.subject).toBe('<bdi>H</bdi>')
    expect(await textOf(shown.fragments['preview-said'], '.notice')).toEqual([
      'Caution: ada@example.com reported an email as spam.',
    ])
  })

  test('names refused links', async () => {
    const evil = 'https://evil.example/<script>'
    await pages.event({ properties: { headline: 'H', url: evil } })
    const { shown } = await ask({ ...WORDS, 'mail.body': '[See]({{ event.url }})' })
    expect(await textOf(shown.fragments['preview-said'], '.notice')).toEqual([
      expect.stringContaining(`no link to “${evil}”`),
    ])
    expect(shown.mail.text).not.toContain('evil')
  })

  test('accepts any input', async () => {
    const strange: Record<string, string>[] = [
      {},
      { trigger: 'page', 'trigger.page': '' },
      { trigger: 'tag' },
      { 'trigger.where[0].property': HOSTILE, 'trigger.where[0].is': 'x', 'trigger.event': 'results_ready' },
      { 'onlyIf[0].rule': 'constructor', wait: 'minutes', 'wait.unit': 'constructor', 'wait.minutes': '1' },
      { 'mail.fromEmail': HOSTILE, 'mail.subject': 'S', 'mail.body': 'B' },
    ]
    for (const fields of strange) expect((await ask(fields)).status).toBe(200)
  })

  test('is for members of the account, shows viewers the stored text, and answers as fast as the page', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const seen = await ask({ ...WORDS, 'mail.body': 'Typed by Eve' }, await pages.signedIn('eve@example.com'))
    expect([seen.status, JSON.stringify(seen.shown).includes('Typed by Eve')]).toEqual([200, false])
    await pages.addAccount('mallory@example.com', 'Other')
    expect((await ask(WORDS, await pages.signedIn('mallory@example.com'))).status).toBe(404)
    await inTurns(300, (i) => pages.event({ email: `p${i}@example.com`, properties: { headline: 'H' } }))
    const timeOf = async (step: () => Promise<unknown>): Promise<number> => {
      const startedAt = performance.now()
      await step()
      return performance.now() - startedAt
    }
    // in turns, because a busy machine makes single ones slow; the page has the same preview
    const times: [number, number][] = []
    for (let nth = 0; nth < 9; nth += 1)
      times.push([
        await timeOf(() => ask({ ...WORDS, 'mail.body': `{{ event.headline }} ${'word '.repeat(nth * 200)}` })),
        await timeOf(() => pages.browser.get(pages.path)),
      ])
    const [preview = 0, page = 0] = [0, 1].map((at) => Math.min(...times.map((pair) => pair[at] ?? 0)))
    expect(preview).toBeLessThan(page)
  })
})

describe('a new message', () => {
  const path = () => pages.at('messages/new')
  const FILE: { name: string; mail: object }[] = JSON.parse(EMAILS_FILE)

  test.each(FILE.map(({ name }) => name))('can start from the ready email “%s”', async (name) => {
    expect(await textOf((await pages.browser.get(path())).html, '.ready-emails a.chip')).toContain(name)
    const { html } = await pages.browser.get(`${path()}?from=${encodeURIComponent(name)}`)
    expect(await textOf(html, '.ready-emails [aria-current]')).toEqual([name])
    expect(await textOf(html, '#unsaved[hidden]')).toHaveLength(1)
    const earlier = (await pages.messages()).length
    expect((await pages.browser.post(path(), { ...(await fieldsOf(html)), do: 'save' })).status).toBe(303)
    const saved = (await pages.messages())[earlier]
    const { name: _, ...content } = FILE.find((one) => one.name === name) ?? { name, mail: {} }
    expect(saved).toMatchObject({ status: 'draft', content })
    const taken = name.startsWith('Results ready') || name.startsWith('Results not')
    expect(saved?.name).toBe(taken ? `${name} (copy)` : name)
  })

  test('starts from an email after another message only where there is that message', async () => {
    await pages.press(pages.path, 'save', { name: 'Renamed' })
    const names = await textOf((await pages.browser.get(path())).html, '.ready-emails a.chip')
    expect(names).toEqual([
      'Empty',
      ...FILE.map(({ name }) => name).filter((name) => name !== 'Results not opened yet'),
    ])
  })

  test('keeps what is typed: once it is being edited, nothing else can be started from', async () => {
    const { html } = await pages.press(path(), 'preview', { 'mail.subject': 'Typed' })
    expect([await textOf(html, '.ready-emails'), await textOf(html, '#unsaved[hidden]')]).toEqual([[], []])
  })
})

test('suggests the tags and the fields that people have, in the trigger and the rules', async () => {
  await pages.browser.post(pages.at('people/new'), {
    email: 'ada@example.com',
    tags: 'beta\nvip',
    'fields[0].name': 'plan',
    'fields[0].value': 'pro',
  })
  const rules = { 'onlyIf[0].rule': 'tagHas', 'onlyIf[1].rule': 'tagLacks', 'onlyIf[2].rule': 'field' }
  const { html } = await pages.press(pages.path, 'preview', { trigger: 'tag', ...rules })
  for (const name of ['trigger.tag', 'onlyIf[0].has', 'onlyIf[1].lacks'])
    expect([name, await attributesOf(html, `[name="${name}"]`, 'list')]).toEqual([name, ['tag-names']])
  expect(await attributesOf(html, '#tag-names option', 'value')).toEqual(['beta', 'vip'])
  expect(await attributesOf(html, '[name="onlyIf[2].field"]', 'list')).toEqual(['field-names'])
  expect(await attributesOf(html, '#field-names option', 'value')).toEqual(['plan'])
})

describe('a message by date', () => {
  const DATE = { trigger: 'date', 'trigger.date': 'trialEndsAt', 'trigger.days': '3' }
  const addPerson = async (email: string, name: string, value: string) => {
    await pages.browser.post(pages.at('people/new'), { email, 'fields[0].name': name, 'fields[0].value': value })
  }

  test('suggests the fields that people have, and its own in the text', async () => {
    await addPerson('ada@example.com', 'trialEndsAt', '2027-01-01')
    const { html } = await pages.press(pages.path, 'preview', DATE)
    expect(await attributesOf(html, '[name="trigger.date"]', 'list')).toEqual(['field-names'])
    expect(await attributesOf(html, '#field-names option', 'value')).toEqual(['trialEndsAt'])
    const chips = ['{{ contact.fields.trialEndsAt | date: "long" }}', '{{ contact.firstName | default: "there" }}']
    expect(await attributesOf(html, '#properties .chip', 'data-insert')).toEqual(chips)
    const typed = await pages.browser.post(`${pages.path}/preview`, { ...(await fieldsOf(html)), show: 'preview' })
    expect(typed.html).toContain('contact.fields.trialEndsAt | date')
    const other = await pages.press(pages.path, 'preview', { 'trigger.date': 'trialEndsAt' })
    expect(await attributesOf(other.html, '#properties .chip', 'data-insert')).toEqual([
      '{{ event.headline }}',
      '{{ event.url }}',
      ...chips.slice(1),
    ])
  })

  test('links to the people whose value may be no date', async () => {
    const linksOf = async () => {
      const { html } = await pages.press(pages.path, 'preview', DATE)
      const links = await attributesOf(html, '#data-notes a', 'href')
      return links.flatMap((href) => (href?.includes('/people?') ? [href] : []))
    }
    expect(await linksOf()).toEqual([])
    await addPerson('ada@example.com', 'trialEndsAt', 'soon')
    await addPerson('bob@example.com', 'plan', 'pro')
    const [path = '', ...others] = await linksOf()
    expect([path.includes('trialEndsAt'), others]).toEqual([false, []])
    const { html } = await pages.browser.get(path)
    expect([html.includes('ada@example.com'), html.includes('bob@example.com')]).toEqual([true, false])
  })
})
