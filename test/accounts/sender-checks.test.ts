import { describe, expect, test } from 'bun:test'
import { checkSender, type CheckedSender, type SenderCheck } from '../../src/accounts/sender-checks.ts'

const DOMAIN = 'mail.example.com'
const SENDER: CheckedSender = { domain: DOMAIN, server: 'smtp.example.net', dkim: null }
const SIGNED: CheckedSender = { ...SENDER, dkim: { domain: 'example.com', selector: 'post', publicKey: 'KEY' } }
const KEY_NAME = 'post._domainkey.example.com'

/** Records by name; null: no answer. */
const check = async (zone: Record<string, string[] | null>, about: SenderCheck['about'], sender = SENDER) => {
  const checks = await checkSender(async (name) => (name in zone ? (zone[name] ?? null) : []), sender)
  expect(checks.map((one) => one.about)).toEqual(['SPF', 'DKIM', 'DMARC'])
  const found = checks.find((one) => one.about === about)
  if (!found) throw new Error(about)
  return found
}

describe('SPF', () => {
  test('is missing: the record to add names the mail server', async () => {
    const record = { name: DOMAIN, type: 'TXT', value: 'v=spf1 a:smtp.example.net ~all' }
    expect(await check({ [DOMAIN]: ['v=spf10 no', 'other'] }, 'SPF')).toMatchObject({ state: 'bad', record })
    const without = await check({}, 'SPF', { ...SENDER, server: null })
    expect(without.record?.value).toBe('v=spf1 mx ~all')
    const values = await Promise.all(
      ['9.9.9.9', '2620:fe::fe', '[2620:fe::fe]'].map(
        async (server) => (await check({}, 'SPF', { ...SENDER, server })).record?.value,
      ),
    )
    expect(values).toEqual(['v=spf1 ip4:9.9.9.9 ~all', 'v=spf1 ip6:2620:fe::fe ~all', 'v=spf1 ip6:2620:fe::fe ~all'])
  })
  test.each([
    '127.0.0.1',
    '127.1.2.3',
    '[::1]',
    '::ffff:127.0.0.1',
    '10.0.0.7',
    '192.168.1.1',
    '169.254.1.1',
    '100.64.0.1',
    'fd00::1',
    'localhost',
    'mailhost',
    'mail.internal',
    'relay.local.',
  ])('is missing, and %s is not a public server: no record names it', async (server) => {
    const found = await check({}, 'SPF', { ...SENDER, server })
    expect(found).toMatchObject({ state: 'bad', record: null })
    expect(found.sentence).toContain('its public address is unknown')
    expect(JSON.stringify(found)).not.toContain(server)
  })
  test.each([
    [['v=spf1 include:spf.example.net ~all'], 'good', 'has an SPF record'],
    [['V=SPF1 -all'], 'good', 'has an SPF record'],
    [['v=spf1 a -all', 'v=spf1 mx -all'], 'bad', 'has 2 SPF records'],
    [['v=spf1 +all'], 'bad', 'lets anyone send'],
    [['v=spf1 mx all'], 'bad', 'lets anyone send'],
    [null, 'unasked', 'DNS gave no answer'],
  ] as const)('%j is %s', async (records, state, sentence) => {
    const found = await check({ [DOMAIN]: records && [...records] }, 'SPF')
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence), record: null })
  })
})

describe('SPF of a known mail provider', () => {
  test.each([
    ['email-smtp.eu-west-1.amazonaws.com', 'v=spf1 include:amazonses.com ~all'],
    ['smtp.eu.mailgun.org', 'v=spf1 include:mailgun.org ~all'],
    ['SMTP.sendgrid.net', 'v=spf1 include:sendgrid.net ~all'],
    ['smtp-relay.brevo.com', 'v=spf1 include:spf.brevo.com ~all'],
    ['smtp.gmail.com', 'v=spf1 include:_spf.google.com ~all'],
    ['smtp.fastmail.com', 'v=spf1 include:spf.messagingengine.com ~all'],
  ])('%s is its include, not its host', async (server, value) => {
    expect(await check({}, 'SPF', { ...SENDER, server })).toMatchObject({ state: 'bad', record: { value } })
    expect(await check({ [DOMAIN]: [value] }, 'SPF', { ...SENDER, server })).toMatchObject({ state: 'good' })
  })
  test.each(['smtp.postmarkapp.com', 'smtp.resend.com'])('%s needs no record', async (server) => {
    expect(await check({}, 'SPF', { ...SENDER, server })).toMatchObject({ state: 'caution', record: null })
  })
  test.each([
    ['v=spf1 mx -all', 'v=spf1 mx include:sendgrid.net -all'],
    ['v=spf1 include:other.example  ~all', 'v=spf1 include:other.example include:sendgrid.net ~all'],
    ['v=spf1 mx', 'v=spf1 mx include:sendgrid.net'],
    ['v=spf1', 'v=spf1 include:sendgrid.net'],
    ['v=spf1 redirect=_spf.x.example ?all', 'v=spf1 redirect=_spf.x.example include:sendgrid.net ?all'],
  ])('that is missing in %s is added before its end', async (record, value) => {
    const found = await check({ [DOMAIN]: [record] }, 'SPF', { ...SENDER, server: 'smtp.sendgrid.net' })
    expect(found).toMatchObject({ state: 'bad', record: { name: DOMAIN, type: 'TXT', value } })
  })
})

describe('DKIM', () => {
  test('is not signed by the service', async () =>
    expect(await check({}, 'DKIM')).toMatchObject({ state: 'caution', record: null }))
  test.each([
    [[], 'bad', 'not published yet'],
    [['v=DKIM1; k=rsa; p=OTHER'], 'bad', 'not the signing key'],
    [['v=DKIM1; p='], 'bad', 'not the signing key'],
    [['v=DKIM1; k=rsa; p=K E Y'], 'good', 'is published'],
    [['v=DKIM1; k=rsa; p=K', 'EY; t=s'], 'good', 'is published'],
    [null, 'unasked', 'DNS gave no answer'],
  ] as const)('%j is %s', async (records, state, sentence) => {
    const found = await check({ [KEY_NAME]: records && [...records] }, 'DKIM', SIGNED)
    const record = state === 'bad' ? { name: KEY_NAME, type: 'TXT' as const, value: 'v=DKIM1; k=rsa; p=KEY' } : null
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence), record })
  })
  test('of another organisation does not count', async () => {
    const foreign = { ...SIGNED, domain: 'example.org' }
    expect(await check({ [KEY_NAME]: ['p=KEY'] }, 'DKIM', foreign)).toMatchObject({ state: 'caution' })
  })
})

describe('DMARC', () => {
  test('is missing', async () => {
    const record = { name: `_dmarc.${DOMAIN}`, type: 'TXT', value: 'v=DMARC1; p=none' }
    expect(await check({}, 'DMARC')).toMatchObject({ state: 'caution', record })
  })
  test.each([
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1; p=none'] }, 'good', 'are only reported'],
    [
      { '_dmarc.example.com': ['v=DMARC1; p=reject; rua=mailto:a@b.example'] },
      'good',
      'are refused, according to _dmarc.example.com',
    ],
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1; p=Quarantine'] }, 'good', 'go to the spam folder'],
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1'] }, 'bad', 'has no policy'],
    [{ [`_dmarc.${DOMAIN}`]: null }, 'unasked', 'DNS gave no answer'],
    [{ '_dmarc.example.com': null }, 'unasked', 'DNS gave no answer'],
  ] as const)('%j is %s', async (zone, state, sentence) => {
    const found = await check(zone as unknown as Record<string, string[] | null>, 'DMARC')
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence) })
  })
})
