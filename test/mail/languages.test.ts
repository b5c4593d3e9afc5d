import { expect, test } from 'bun:test'
import { describeVerdicts } from '../../src/deliveries/describe-verdict.ts'
import { readRecord } from '../../src/deliveries/deliveries.ts'
import { CONTACTS } from '../helper.ts'
import { readMail } from './reading.ts'
import { useSending } from './sending.ts'

const start = useSending()

test('each person gets the text in their language, once, and the delivery says why', async () => {
  const text = (subject: string) => ({ subject, body: 'Hello {{ 1234.5 | number }}' })
  const mail = { ...text('Own'), variants: { ar: text('Arabic'), de: text('German') } }
  const sending = await start({ trigger: { contact: 'created' }, mail })
  const locales = { 'a@example.com': 'ar-EG', 'b@example.com': 'de_CH', 'c@example.com': 'fr', 'd@example.com': null }
  for (const [email, locale] of Object.entries(locales)) {
    const body = { newsletter: sending.app.publicId, email, ...(locale === null ? {} : { fields: { locale } }) }
    expect((await sending.call('POST', CONTACTS, { body })).status).toBe(201)
  }
  await sending.sendDue()
  const mails = sending.server.received.map(({ to: [to = ''], raw }) => [to, readMail(raw)] as const)
  const subjects = mails.map(([to, { headers }]) => [to, new Map(headers).get('subject')])
  expect(Object.fromEntries(subjects)).toEqual({
    'a@example.com': 'Arabic',
    'b@example.com': 'German',
    'c@example.com': 'Own',
    'd@example.com': 'Own',
  })
  const htmlOf = (email: string) => mails.find(([to]) => to === email)?.[1].parts[1]?.text ?? ''
  expect(htmlOf('a@example.com')).toContain('<html lang="ar" dir="rtl">')
  expect(htmlOf('b@example.com')).toContain('Hello 1.234,5')
  expect(htmlOf('b@example.com')).toContain('Sie erhalten diese E-Mail, weil Sie first nutzen.')
  for (const email of ['a@example.com', 'c@example.com'])
    expect(htmlOf(email)).toContain('You received this email because you use first.')
  const deliveries = await sending.deliveries()
  const people = new Map(
    (await sending.store().listContactsById(deliveries.map((one) => one.contactId))).map((one) => [one.id, one]),
  )
  const said = deliveries.map((delivery) => {
    const person = people.get(delivery.contactId)
    const verdicts = readRecord(delivery)?.verdicts.filter(({ rule }) => rule === 'language') ?? []
    return describeVerdicts(verdicts, { person, content: { trigger: { contact: 'created' }, mail } } as never)
  })
  expect(said.flat().toSorted()).toEqual([
    "The message's own text was used, because d@example.com has no locale.",
    "The message's own text was used, because no other text fits c@example.com's locale, fr.",
    "The text in Arabic (ar) was used, because it fits a@example.com's locale, ar-EG.",
    "The text in German (de) was used, because it fits b@example.com's locale, de_CH.",
  ])
})
