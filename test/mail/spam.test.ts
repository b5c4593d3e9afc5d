/**
 * SpamAssassin (Debian's package, local rules) gives shipped emails less than 1 point. `bun run check-mails` checks
 * every layout and draft; the suite checks the drafts, where it is installed.
 */
import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { composeMail } from '../../src/mail/compose.ts'
import type { MailFacts, MailTemplate } from '../../src/messages/mailer.ts'
import { BARE, makeFacts, renderForTest, RESULTS, UNSUBSCRIBE } from './facts.ts'
import { checkDkim, headersOf, readMail } from './reading.ts'

const POINTS = 1
const FILTER_MS = 120_000

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

type Shipped = { name: string; template: Partial<MailTemplate>; facts: MailFacts }

const templateOf = ({ subject, preheader = '', body }: (typeof FIRST_MESSAGES)[number]['content']['mail']) => ({
  subject,
  preheader,
  body,
})

const DRAFTS: Shipped[] = FIRST_MESSAGES.flatMap(({ name, content: { mail } }) => [
  { name, template: templateOf(mail), facts: makeFacts() },
  { name: `${name}, of whom little is known`, template: templateOf(mail), facts: makeFacts({ url: RESULTS.url }) },
  {
    name: `${name}, with an address of others`,
    template: templateOf(mail),
    facts: makeFacts({ ...RESULTS, url: 'https://other.example/' }),
  },
])

const EVERYTHING = `# A heading\n\n{{ event.headline }} Read [more about it]({{ event.url }}) and \`code\`.\n\n- one\n- two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n[See your results]({{ event.url }})`
const style = (of: Partial<MailFacts['style']>) => makeFacts(RESULTS, { style: { ...BARE, ...of } })

const LAYOUTS: Shipped[] = [
  { name: 'everything', template: { body: EVERYTHING }, facts: makeFacts() },
  { name: 'transactional', template: { category: 'transactional' }, facts: makeFacts() },
  { name: 'without a preheader', template: { preheader: '' }, facts: makeFacts() },
  { name: 'without an address', template: {}, facts: style({}) },
  { name: 'with a logo', template: {}, facts: style({ logoUrl: 'https://app.example.com/logo.png' }) },
  { name: 'yellow', template: {}, facts: style({ colour: '#ffdd00' }) },
  {
    name: 'only text',
    template: { body: 'Hello {{ contact.firstName }}, your results are ready. Bye.' },
    facts: makeFacts(),
  },
]

const SHIPPED = process.env.CHECK_MAILS === 'all' ? [...DRAFTS, ...LAYOUTS] : DRAFTS

const idOf = ({ name }: Shipped): string => `dlv_${Bun.hash(name)}@app.example.com`

async function compose(shipped: Shipped): Promise<string> {
  const { template, facts } = shipped
  const { raw } = await composeMail({
    mail: renderForTest(template, facts),
    from: { name: 'Picture Studio', address: 'hello@app.example.com' },
    replyTo: null,
    to: { name: 'Ada', address: 'ada@receiver.example' },
    messageId: idOf(shipped),
    at: Date.now(),
    unsubscribeUrl: template.category === 'transactional' ? null : UNSUBSCRIBE,
    dkim: { domain: 'app.example.com', selector: 's1', key: privateKey },
  })
  return raw.toString('latin1')
}

type Score = { points: number; rules: string }

/** By ID: one process, which takes a second to start, filters them all, in any order. */
async function filter(mails: string[]): Promise<Map<string, Score>> {
  const received = `Received: from mail.app.example.com (mail.app.example.com [93.184.216.34])\r\n\tby mx.receiver.example with ESMTPS id 1; ${new Date().toUTCString()}\r\n`
  const [, day, date, month, year, time] = /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(new Date().toUTCString()) ?? []
  const begins = `From sender@app.example.com  ${day} ${month} ${date} ${time} ${year}\n`
  const mbox = mails.map((raw) => `${begins}${(received + raw).replaceAll(/^From /gm, '>From ')}\n`).join('')
  const child = Bun.spawn(['spamassassin', '--local', '--test-mode', '--mbox'], {
    stdin: Buffer.from(mbox, 'latin1'),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const text = (await new Response(child.stdout).text()).replaceAll(/\r?\n[ \t]+/g, ' ')
  const scores = new Map<string, Score>()
  for (const mail of text.split(/^From /m).slice(1)) {
    const [, points] = /^X-Spam-Status: .*?score=(-?[\d.]+)/m.exec(mail) ?? []
    const [, rules = ''] = /^X-Spam-Status: .*?tests=(\S*)/m.exec(mail) ?? []
    const [, id = ''] = /^Message-ID: <(.*)>/im.exec(mail) ?? []
    if (points !== undefined) scores.set(id, { points: Number(points), rules })
  }
  return scores
}

const BODY = 'Buy VIAGRA cheap!!! 100% FREE MONEY, million dollars, click here now [x](https://93.184.216.34/)'
const SPAM: Shipped = { name: 'spam', template: { subject: 'FREE VIAGRA!!! ACT NOW', body: BODY }, facts: makeFacts() }

describe.each(SHIPPED)('the mail $name', (shipped) => {
  test('is signed by the domain of its sender, with both parts', async () => {
    const raw = await compose(shipped)
    expect(checkDkim(raw, publicKey)).toMatchObject({ domain: 'app.example.com', isValid: true })
    const mail = readMail(raw)
    expect(headersOf(mail, 'from')).toEqual(['Picture Studio <hello@app.example.com>'])
    expect(mail.parts.map(({ type }) => type)).toEqual(['text/plain; charset=utf-8', 'text/html; charset=utf-8'])
    for (const { text } of mail.parts) expect(text.length).toBeGreaterThan(50)
  })
})

// in CI a missing filter is a failure
describe.skipIf(Bun.which('spamassassin') === null && process.env.CI === undefined)('a spam filter', () => {
  let scores: Map<string, Score>
  beforeAll(async () => {
    scores = await filter(await Promise.all([...SHIPPED, SPAM].map(compose)))
  }, FILTER_MS)

  test.each(SHIPPED)(`gives less than ${POINTS} to $name`, (shipped) => {
    const { points, rules } = scores.get(idOf(shipped)) ?? {}
    expect({ points, rules, isBelow: Number(points) < POINTS }).toMatchObject({ isBelow: true })
    if (process.env.CHECK_MAILS) console.log(`${points?.toFixed(1)}  ${shipped.name}  (${rules})`)
  })

  test('knows spam when it sees it', () => {
    expect(scores.get(idOf(SPAM))?.points).toBeGreaterThan(POINTS)
  })
})
