/**
 * SpamAssassin (Debian's package, local rules) gives shipped emails less than 1 point. `bun run check-mails` checks
 * every layout and draft; the suite checks the drafts, where it is installed.
 */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { composeMail } from '../../src/mail/compose.ts'
import type { MailFacts, MailWords } from '../../src/messages/mailer.ts'
import { makeFacts, renderForTest, RESULTS, UNSUBSCRIBE } from './facts.ts'
import { checkDkim, headersOf, readMail } from './reading.ts'

const POINTS = 1
const FILTER_MS = 60_000

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

type Shipped = { name: string; words: Partial<MailWords>; facts: MailFacts }

const wordsOf = ({ subject, preheader = '', body }: (typeof FIRST_MESSAGES)[number]['content']['mail']) => ({
  subject,
  preheader,
  body,
})

const DRAFTS: Shipped[] = FIRST_MESSAGES.flatMap(({ name, content: { mail } }) => [
  { name, words: wordsOf(mail), facts: makeFacts() },
  { name: `${name}, of whom little is known`, words: wordsOf(mail), facts: makeFacts({ url: RESULTS.url }) },
  {
    name: `${name}, with an address of others`,
    words: wordsOf(mail),
    facts: makeFacts({ ...RESULTS, url: 'https://other.example/' }),
  },
])

const EVERYTHING = `# A heading\n\n{{ event.headline }} Read [more about it]({{ event.url }}) and \`code\`.\n\n- one\n- two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n[See your results]({{ event.url }})`
const style = (of: Partial<MailFacts['style']>) =>
  makeFacts(RESULTS, { style: { logoUrl: null, colour: null, postalAddress: null, ...of } })

const LAYOUTS: Shipped[] = [
  { name: 'everything', words: { body: EVERYTHING }, facts: makeFacts() },
  { name: 'transactional', words: { category: 'transactional' }, facts: makeFacts() },
  { name: 'without a preheader', words: { preheader: '' }, facts: makeFacts() },
  { name: 'without an address', words: {}, facts: style({}) },
  { name: 'with a logo', words: {}, facts: style({ logoUrl: 'https://app.example.com/logo.png' }) },
  { name: 'yellow', words: {}, facts: style({ colour: '#ffdd00' }) },
  {
    name: 'only text',
    words: { body: 'Hello {{ contact.firstName }}, your results are ready. Bye.' },
    facts: makeFacts(),
  },
]

const SHIPPED = process.env.CHECK_MAILS === 'all' ? [...DRAFTS, ...LAYOUTS] : DRAFTS

async function compose({ words, facts }: Shipped): Promise<string> {
  const { raw } = await composeMail({
    mail: renderForTest(words, facts),
    from: { name: 'Picture Studio', address: 'hello@app.example.com' },
    replyTo: null,
    to: { name: 'Ada', address: 'ada@receiver.example' },
    messageId: 'dlv_00000000001@app.example.com',
    at: Date.now(),
    unsubscribeUrl: words.category === 'transactional' ? null : UNSUBSCRIBE,
    dkim: { domain: 'app.example.com', selector: 's1', key: privateKey },
  })
  return raw.toString('latin1')
}

async function filter(raw: string): Promise<{ points: number; rules: string }> {
  const received = `Received: from mail.app.example.com (mail.app.example.com [93.184.216.34])\r\n\tby mx.receiver.example with ESMTPS id 1; ${new Date().toUTCString()}\r\n`
  const input = Buffer.from(received + raw, 'latin1')
  const child = Bun.spawn(['spamassassin', '--local', '--test-mode'], {
    stdin: input,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const text = (await new Response(child.stdout).text()).replaceAll(/\r?\n[ \t]+/g, ' ')
  const [, score, rules = ''] = /^X-Spam-Status: .*?score=(-?[\d.]+).*?tests=(\S*)/m.exec(text) ?? []
  if (score === undefined) throw new Error('the filter gave no score')
  return { points: Number(score), rules }
}

describe.each(SHIPPED)('the mail $name', (shipped) => {
  test('is signed by the domain of its sender, with both parts', async () => {
    const raw = await compose(shipped)
    expect(checkDkim(raw, publicKey)).toMatchObject({ domain: 'app.example.com', isValid: true })
    const mail = readMail(raw)
    expect(headersOf(mail, 'from')).toEqual(['Picture Studio <hello@app.example.com>'])
    expect(mail.parts.map(({ type }) => type)).toEqual(['text/plain; charset=utf-8', 'text/html; charset=utf-8'])
    for (const { text } of mail.parts) expect(text.length).toBeGreaterThan(50)
  })

  test.skipIf(Bun.which('spamassassin') === null)(
    `is given less than ${POINTS} by a spam filter`,
    async () => {
      const { points, rules } = await filter(await compose(shipped))
      expect({ points, rules, isBelow: points < POINTS }).toMatchObject({ isBelow: true })
      if (process.env.CHECK_MAILS) console.log(`${points.toFixed(1)}  ${shipped.name}  (${rules})`)
    },
    FILTER_MS,
  )
})

test.skipIf(Bun.which('spamassassin') === null)(
  'the filter knows spam when it sees it',
  async () => {
    const body = 'Buy VIAGRA cheap!!! 100% FREE MONEY, million dollars, click here now [x](https://93.184.216.34/)'
    const spam = { name: 'spam', words: { subject: 'FREE VIAGRA!!! ACT NOW', body }, facts: makeFacts() }
    expect((await filter(await compose(spam))).points).toBeGreaterThan(POINTS)
  },
  FILTER_MS,
)
