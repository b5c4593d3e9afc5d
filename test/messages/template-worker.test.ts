import { describe, expect, spyOn, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MailFacts, MailTemplate } from '../../src/messages/mailer.ts'
import { createTemplateWorker } from '../../src/messages/template-worker.ts'
import { COSTLY_BODIES } from '../costly-drafts.ts'
import { isLong } from '../long-form.ts'
import { makeFacts, TEMPLATE } from '../mail/facts.ts'

const APP = 1
const mailOf = (template: Partial<MailTemplate> = {}, facts: MailFacts = makeFacts()) => ({
  template: { ...TEMPLATE, ...template },
  facts,
})
/** For results that a busy machine must not turn into timeouts. One thread for the tests that leave it as it is. */
const patient = createTemplateWorker({ renderMs: 15_000 })
/** Where only the order counts, not whether an email is slow. */
const SHORT = { renderMs: 25 }
/** Allowed; takes about ten milliseconds. */
const SOME_WORK = '{% for i in (1..900) %}{{ i }}{% endfor %}'

describe('rendering', () => {
  test('equals rendering in this thread', async () => {
    const { renderMail } = await import('../../src/mail/render.ts')
    const { template, facts } = mailOf()
    expect(await patient.render(APP, { template, facts })).toEqual(renderMail(template, facts))
  })

  /** templates.test.ts and markdown.test.ts render all of them */
  const costly = Object.entries(COSTLY_BODIES).filter((_, index) => isLong || index % 4 === 0)

  test('ends in time and with little memory for any template', async () => {
    // the limit of an email, or a shorter one with as much time in all
    const worker = createTemplateWorker(isLong ? {} : { renderMs: 50, graceMs: 250 })
    await worker.render(APP, mailOf())
    const before = process.memoryUsage().rss
    const late: string[] = []
    let most = 0
    for (const [name, body] of costly) {
      const startedAt = process.cpuUsage()
      const mail = await worker.render(APP, mailOf({ body }))
      const tried = await worker.tryAll(APP, { ...mailOf({ body }), samples: [makeFacts(), makeFacts()] }, 100)
      const { user, system } = process.cpuUsage(startedAt)
      // CPU time of all threads: on a busy machine the limits pass with less work
      if ((user + system) / 1_000 > 3_000) late.push(name)
      expect(Object.keys(mail)[0]).toBeOneOf(['subject', 'broken', 'empty', 'missing', 'slow'])
      expect(tried.tried).toBeGreaterThan(0)
      most = Math.max(most, process.memoryUsage().rss)
    }
    expect(late).toEqual([])
    expect((most - before) / 1e6).toBeLessThan(300)
  }, 120_000)

  test('is not slow because the machine is busy', async () => {
    const { renderMail } = await import('../../src/mail/render.ts')
    const { template, facts } = mailOf({ body: SOME_WORK })
    const now = performance.now.bind(performance)
    let lostMs = 0
    const clock = spyOn(performance, 'now').mockImplementation(() => now() + (lostMs += 1_000))
    const mail = renderMail(template, facts)
    clock.mockRestore()
    expect(mail).toHaveProperty('html')
  })

  test('that takes too long is stopped, and the next one is not', async () => {
    const worker = createTemplateWorker({ renderMs: 1, aloneMs: 15_000, graceMs: 0 })
    expect(await worker.render(APP, mailOf({ body: COSTLY_BODIES['many values'] }))).toEqual({ slow: true })
    expect(await worker.inspect(APP, Object.values(COSTLY_BODIES))).toBeNull()
    expect(await worker.render(APP, mailOf(), { isAlone: true })).toHaveProperty('html')
  })

  test('of a sent email does not wait for previews', async () => {
    const ended: string[] = []
    const previews = Array.from({ length: 260 }, () => patient.render(APP, mailOf()))
    const counted = previews.map((preview) =>
      preview.then((mail) => ended.push('slow' in mail ? 'refused' : 'preview')),
    )
    const sent = patient.render(APP, mailOf(), { isSent: true }).then((mail) => {
      ended.push('html' in mail ? 'sent' : 'not sent')
    })
    await Promise.all([...counted, sent])
    expect(ended.filter((one) => one !== 'refused').indexOf('sent')).toBeLessThan(3)
    expect(ended).not.toContain('not sent')
    expect(ended).toContain('refused')
  })

  test('of sent emails is done for all, also if one of them is slow or stops the thread', async () => {
    const rendered = (mail: object): string => ('html' in mail ? 'html' : Object.keys(mail).join())
    const bodies = ['a', SOME_WORK, 'b', 'c']
    const renderAll = async (worker: ReturnType<typeof createTemplateWorker>) =>
      (await Promise.all(bodies.map((body) => worker.render(APP, mailOf({ body }), { isSent: true })))).map(rendered)
    expect(await renderAll(createTemplateWorker({ renderMs: 0, graceMs: 15_000 }))).toEqual([
      'html',
      'slow',
      'html',
      'html',
    ])
    const stopped = await renderAll(createTemplateWorker({ renderMs: 1, graceMs: 0 }))
    expect(stopped[1]).toBe('slow')
    for (const one of stopped) expect(one).toBeOneOf(['html', 'slow'])
  })

  test('of sent emails is done in order, however many follow', async () => {
    const order: number[] = []
    let begun = 0
    const renderNext = async (): Promise<void> => {
      if (begun === 40) return
      const number = begun++
      await patient.render(APP, mailOf({ body: String(number) }), { isSent: true })
      order.push(number)
      return renderNext()
    }
    await Promise.all(Array.from({ length: 18 }, renderNext))
    expect(order).toEqual(Array.from({ length: 40 }, (_, number) => number))
  })

  test('of many sent emails delays another app by no more than two of them', async () => {
    const worker = createTemplateWorker(SHORT)
    const order: string[] = []
    const render = async (app: number, name: string, body = 'a'): Promise<void> => {
      await worker.render(app, mailOf({ body }), { isSent: true })
      order.push(name)
    }
    const slow = Array.from({ length: 4 }, () => render(1, 'slow', COSTLY_BODIES['a loop over many conditions']))
    // the second comes while several of them cross threads together
    await render(2, 'first')
    await Promise.all([render(3, 'second'), ...slow])
    const slowBefore = (name: string) => order.slice(0, order.indexOf(name)).filter((one) => one === 'slow').length
    expect(slowBefore('first')).toBe(1)
    expect(slowBefore('second')).toBeLessThanOrEqual(2)
  })

  test('has more time alone', async () => {
    const worker = createTemplateWorker({ renderMs: 0, aloneMs: 15_000 })
    const mail = mailOf({ body: SOME_WORK })
    expect(await worker.render(APP, mail)).toEqual({ slow: true })
    expect(await worker.render(APP, mail, { isAlone: true })).toHaveProperty('html')
  })

  test('of an app waits only for its own work', async () => {
    const worker = createTemplateWorker(SHORT)
    const order: number[] = []
    const render = async (app: number, body: string): Promise<void> => {
      await worker.render(app, mailOf({ body }))
      order.push(app)
    }
    const slow = Array.from({ length: 4 }, () => render(1, COSTLY_BODIES['a loop over many conditions'] ?? ''))
    await Promise.all([...slow, render(2, 'a'), render(3, 'b'), render(2, 'c')])
    expect(order.filter((app) => app !== 1)).toEqual([2, 3, 2])
    // at most two of the first app come before
    expect(order.lastIndexOf(2)).toBeLessThanOrEqual(4)
    expect(order).toHaveLength(7)
  })

  test('of an app has a limited queue', async () => {
    const all = await Promise.all(Array.from({ length: 300 }, () => patient.render(APP, mailOf())))
    const refused = all.filter((mail) => 'slow' in mail).length
    expect([refused > 0, refused < 60]).toEqual([true, true])
    expect(await patient.render(APP, mailOf())).toHaveProperty('html')
  })
})

describe('trying many events', () => {
  const samples = (count: number): MailFacts[] =>
    Array.from({ length: count }, (_, index) => makeFacts(index % 4 === 0 ? {} : { headline: 'H', url: 'https://a.b' }))

  test('counts missing values by part', async () => {
    const { tried, faults } = await patient.tryAll(APP, { template: TEMPLATE, samples: samples(40) }, 5_000)
    expect(tried).toBe(40)
    expect(faults).toEqual([
      { part: 'subject', fault: { missing: 'event.headline' }, count: 10 },
      { part: 'body', fault: { missing: 'event.headline' }, count: 10 },
    ])
  })

  test('reports how many were tried', async () => {
    const template = { ...TEMPLATE, body: SOME_WORK }
    const { tried } = await patient.tryAll(APP, { template, samples: samples(2_000) }, 20)
    expect([tried > 0, tried < 2_000]).toEqual([true, true])
  })

  test('says that an email would be empty', async () => {
    const template = { ...TEMPLATE, subject: 'S', body: '{% if event.headline %}Yes{% endif %}' }
    const { faults } = await patient.tryAll(APP, { template, samples: samples(8) }, 5_000)
    expect(faults).toEqual([{ part: 'body', fault: { empty: 'body' }, count: 2 }])
  })

  test.each(['---', '```\n```', '[a]: https://example.com', '> > >'])(
    'says that an email would always be empty: %j',
    async (body) => {
      const template = { ...TEMPLATE, subject: 'S', body }
      const { faults } = await patient.tryAll(APP, { template, samples: samples(3) }, 5_000)
      expect(faults).toEqual([{ part: 'body', fault: { empty: 'body' }, count: 3 }])
    },
  )
})

test.skipIf(process.platform !== 'linux')(
  'the thread begins with the first template, and keeps no process alive',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eventpost-thread-'))
    const script = join(folder, 'script.ts')
    writeFileSync(
      script,
      `import { readdirSync } from 'node:fs'
import { createTemplateWorker } from '${join(import.meta.dir, '../../src/messages/template-worker.ts')}'
const count = () => readdirSync('/proc/self/task').length
const worker = createTemplateWorker()
const before = count()
const { problems } = await worker.inspect(1, ['{{ x }}'])
console.log(JSON.stringify({ more: count() > before, problems }))`,
    )
    const child = Bun.spawn([process.execPath, script], { stderr: 'pipe', timeout: 100_000 })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect([await child.exited, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toEqual({ more: true, problems: [[expect.stringContaining('There is no variable x.')]] })
    rmSync(folder, { recursive: true })
  },
)
