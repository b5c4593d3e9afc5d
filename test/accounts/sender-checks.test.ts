import { describe, expect, test } from 'bun:test'
import type { SeenMail } from '../../src/accounts/received-mail.ts'
import {
  isAligned,
  checkOneClick,
  checkSender,
  type CheckedSender,
  isMissing,
  keepChecks,
  listCheckedSenders,
  listUnchecked,
  type SenderCheck,
} from '../../src/accounts/sender-checks.ts'

const DOMAIN = 'mail.example.com'
const SENDER: CheckedSender = {
  domain: DOMAIN,
  server: 'smtp.example.net',
  dkim: null,
  nextDkim: null,
  seen: null,
  hasOneClick: true,
}
const SIGNED: CheckedSender = { ...SENDER, dkim: { domain: 'example.com', selector: 'post', publicKey: 'KEY' } }
const KEY_NAME = 'post._domainkey.example.com'

/** Records by name; null: no answer; a text: a CNAME record, whose target has the records. */
type Zone = Record<string, string[] | string | null>

const check = async (zone: Zone, about: SenderCheck['about'], sender = SENDER) => {
  const resolveTxt = async (name: string): Promise<string[] | null> => {
    const found = name in zone ? (zone[name] ?? null) : []
    return typeof found === 'string' ? resolveTxt(found) : found
  }
  const resolveCname = async (name: string) => (typeof zone[name] === 'string' ? zone[name] : null)
  const checks = await checkSender({ resolveTxt, resolveCname }, sender)
  expect(checks.map((one) => one.about)).toEqual(listUnchecked(sender).map((one) => one.about))
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
  ])('is missing, and %s is not a public server: the record has a place for its address', async (server) => {
    const found = await check({}, 'SPF', { ...SENDER, server })
    const value = 'v=spf1 ip4:YOUR_PUBLIC_ADDRESS ~all'
    expect(found).toMatchObject({ state: 'bad', record: { name: DOMAIN, type: 'TXT', value } })
    expect(found.sentence).toContain('its public address is unknown')
    expect(JSON.stringify(found)).not.toContain(server)
  })
  test.each([
    [['v=spf1 include:spf.example.net ~all'], 'good', 'has an SPF record'],
    [['V=SPF1 -all'], 'good', 'has an SPF record'],
    [['v=spf1 a -all', 'v=spf1 mx -all'], 'bad', 'has 2 SPF records'],
    [['v=spf1 +all'], 'bad', 'lets anyone send'],
    [['v=spf1 mx all'], 'bad', 'lets anyone send'],
    [null, 'unasked', "DNS didn't respond"],
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
    [['v=DKIM1; k=rsa; p=OTHER'], 'bad', 'create a key with another selector here. Otherwise, replace it'],
    [['v=DKIM1; p='], 'bad', 'not the signing key. Replace it with this record.'],
    [
      ['v=DKIM1; p=OTHER', 'v=DKIM1; p=KEY'],
      'bad',
      'has 2 DKIM records, so receivers may use the wrong one. Remove the',
    ],
    [['p=KEY', 'p='], 'bad', 'has 2 DKIM records'],
    [['p=ONE', 'p=TWO'], 'bad', 'create a key with another selector here. Otherwise, replace them'],
    [['v=DKIM1; k=rsa; p=K E Y'], 'good', 'is published'],
    [['v=DKIM1; k=rsa; p=K', 'EY; t=s'], 'good', 'is published'],
    [null, 'unasked', "DNS didn't respond"],
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
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1; p=none'] }, 'good', 'are handled like others'],
    [
      { '_dmarc.example.com': ['v=DMARC1; p=reject; rua=mailto:a@b.example'] },
      'good',
      'are refused, according to _dmarc.example.com',
    ],
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1; p=Quarantine'] }, 'good', 'go to the spam folder'],
    [{ [`_dmarc.${DOMAIN}`]: ['v=DMARC1'] }, 'bad', 'has no valid policy'],
    [{ [`_dmarc.${DOMAIN}`]: null }, 'unasked', "DNS didn't respond"],
    [{ '_dmarc.example.com': null }, 'unasked', "DNS didn't respond"],
  ] as const)('%j is %s', async (zone, state, sentence) => {
    const found = await check(zone as unknown as Zone, 'DMARC')
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence) })
  })
})

const seenOf = (changes: Partial<SeenMail> = {}): SeenMail => ({
  signatures: [{ domain: 'example.com', selector: 'k1', coversOneClick: true }],
  bounceDomain: 'send.mail.example.com',
  hasOneClick: true,
  ...changes,
})
const through = (server: string, seen: SeenMail | null = null): CheckedSender => ({ ...SENDER, server, seen })

describe('DKIM of a provider', () => {
  test('is found by its usual name, also as a CNAME', async () => {
    const name = `s1._domainkey.${DOMAIN}`
    const sender = through('smtp.sendgrid.net')
    expect(await check({ [name]: ['v=DKIM1; p=ABC'] }, 'DKIM', sender)).toMatchObject({
      state: 'good',
      sentence: `The key ${name} is published.`,
    })
    const zone = { [name]: 's1.u1.wl.sendgrid.net', 's1.u1.wl.sendgrid.net': ['p=ABC'] }
    expect((await check(zone, 'DKIM', sender)).sentence).toBe(
      `The key ${name} is published, as a CNAME to s1.u1.wl.sendgrid.net.`,
    )
  })
  test('is unknown without a received email', async () => {
    for (const server of ['api.postmarkapp.com', 'smtp.sendgrid.net'])
      expect(await check({}, 'DKIM', through(server))).toMatchObject({ state: 'unseen', record: null })
  })
  test.each<[SeenMail['signatures'], Zone, SenderCheck['state'], string]>([
    [[], {}, 'bad', 'was not signed'],
    [[{ domain: 'sendgrid.me', selector: 'x', coversOneClick: true }], {}, 'caution', 'signed only for sendgrid.me'],
    [seenOf().signatures, { 'k1._domainkey.example.com': ['k=rsa; p=ABC'] }, 'good', 'with k1._domainkey.example.com'],
    [seenOf().signatures, { 'k1._domainkey.example.com': ['k=rsa; p='] }, 'bad', 'has no key'],
    [seenOf().signatures, { 'k1._domainkey.example.com': null }, 'unasked', "DNS didn't respond"],
  ])('with a received email: %j, %j', async (signatures, zone, state, sentence) => {
    const found = await check(zone, 'DKIM', through('smtp.sendgrid.net', seenOf({ signatures })))
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence) })
  })
})

test("a CNAME at the name of Eventpost's own key is named", async () => {
  const target = 'keys.example.net'
  expect((await check({ [KEY_NAME]: target, [target]: ['p=KEY'] }, 'DKIM', SIGNED)).sentence).toBe(
    `The signing key is published, as a CNAME to ${target}.`,
  )
  expect((await check({ [KEY_NAME]: target }, 'DKIM', SIGNED)).sentence).toContain(
    `a CNAME to ${target}, which has no key`,
  )
})

describe('the return path', () => {
  const POSTMARK = { name: `pm-bounces.${DOMAIN}`, type: 'CNAME', value: 'pm.mtasv.net' }
  test.each<[string, CheckedSender, Zone, SenderCheck['state'], string, object | null]>([
    ['of a mail server', SENDER, {}, 'good', `own address at ${DOMAIN}`, null],
    ['of Postmark', through('api.postmarkapp.com'), {}, 'caution', "Postmark's own domain", POSTMARK],
    [
      'of Postmark, set up',
      through('api.postmarkapp.com'),
      { [POSTMARK.name]: 'PM.mtasv.net' },
      'good',
      `Bounces go to ${POSTMARK.name}`,
      null,
    ],
    [
      'of Resend',
      through('api.resend.com'),
      { [`send.${DOMAIN}`]: ['v=spf1 include:amazonses.com ~all'] },
      'good',
      `Bounces go to send.${DOMAIN}`,
      null,
    ],
    [
      'of Amazon SES',
      through('email-smtp.eu-west-1.amazonaws.com'),
      {},
      'unseen',
      'A received email shows where',
      null,
    ],
    [
      'of Amazon SES, as it was seen',
      through('email-smtp.eu-west-1.amazonaws.com', seenOf({ bounceDomain: 'eu-west-1.amazonses.com' })),
      {},
      'caution',
      'Bounces go to eu-west-1.amazonses.com',
      null,
    ],
    ['that was seen', through('smtp.sendgrid.net', seenOf()), {}, 'good', 'send.mail.example.com', null],
  ])('%s', async (_, sender, zone, state, sentence, record) => {
    const found = await check(zone, 'Return path', sender)
    expect(found).toMatchObject({ state, sentence: expect.stringContaining(sentence), record })
  })

  test('is where SPF counts', async () => {
    const own = through('smtp.sendgrid.net', seenOf({ bounceDomain: 'em1.mail.example.com' }))
    expect(await check({ 'em1.mail.example.com': ['v=spf1 include:sendgrid.net ~all'] }, 'SPF', own)).toMatchObject({
      state: 'good',
    })
    const foreign = through('api.postmarkapp.com', seenOf({ bounceDomain: 'pm.mtasv.net' }))
    expect((await check({}, 'SPF', foreign)).sentence).toContain('Bounces go to pm.mtasv.net')
  })
})

describe('a new DKIM key', () => {
  const next = { domain: 'example.com', selector: 'post2', publicKey: 'NEW' }
  const name = 'post2._domainkey.example.com'
  const record = { name, type: 'TXT', value: 'v=DKIM1; k=rsa; p=NEW' }

  test('is the only one: emails are not signed', async () => {
    const sender = { ...SENDER, nextDkim: next }
    expect(listUnchecked(sender).map(({ about }) => about)).not.toContain('DKIM')
    const found = await check({}, 'New DKIM key', sender)
    expect(found).toMatchObject({ state: 'bad', isAbsent: true, record })
    expect(found.sentence).toContain("Eventpost doesn't sign emails until the record is found")
    expect(await check({ [name]: null }, 'New DKIM key', sender)).toMatchObject({ state: 'unasked', record })
  })

  test('waits beside the current one, whose record stays right', async () => {
    const sender = { ...SIGNED, nextDkim: next }
    const zone = { [KEY_NAME]: ['v=DKIM1; p=KEY'] }
    expect(await check(zone, 'DKIM', sender)).toMatchObject({ state: 'good' })
    const found = await check(zone, 'New DKIM key', sender)
    expect(found).toMatchObject({ state: 'caution', record })
    expect([isMissing(found), found.sentence]).toEqual([true, expect.stringContaining('The current key signs emails')])
    const other = await check({ ...zone, [name]: ['v=DKIM1; p=OTHER'] }, 'New DKIM key', sender)
    expect(other.sentence).toStartWith(
      `Another key is published at ${name}. If another app or mail server signs with the published key,`,
    )
    const revoked = await check({ ...zone, [name]: ['v=DKIM1; p='] }, 'New DKIM key', sender)
    expect(revoked.sentence).toBe(`A revoked key is published at ${name}. Replace it with this record.`)
    const both = await check({ ...zone, [name]: ['v=DKIM1; p=OTHER', record.value] }, 'New DKIM key', sender)
    expect(both).toMatchObject({ state: 'caution', record })
    expect(both.sentence).toContain(`${name} has 2 DKIM records`)
    expect(both.sentence).toEndWith('The current key signs emails until then.')
    expect(await check({ ...zone, [name]: [record.value] }, 'New DKIM key', sender)).toMatchObject({ state: 'good' })
  })

  test.each([
    [through('smtp.postmarkapp.com'), 'Only Postmark signs emails until'],
    [{ ...SENDER, seen: seenOf() }, 'Only your email provider signs emails until'],
  ])('waits beside the key of the provider, whose check stays', async (server, signer) => {
    const sender = { ...server, nextDkim: next }
    expect(await check({}, 'DKIM', sender)).toEqual(await check({}, 'DKIM', server))
    const found = await check({}, 'New DKIM key', sender)
    expect(found).toMatchObject({ state: 'caution', isAbsent: true, sentence: expect.stringContaining(signer) })
    const alone = { ...SENDER, nextDkim: next }
    const checks = await checkSender({ resolveTxt: async () => [], resolveCname: async () => null }, alone)
    const kept = keepChecks(checks, alone, sender).find(({ about }) => about === 'New DKIM key')
    expect(kept?.state).toBe('unchecked')
  })

  test('is shown with its record before it was looked up', () => {
    const checks = listUnchecked(SIGNED).map((one): SenderCheck => ({ ...one, state: 'good' }))
    const now = { ...SIGNED, nextDkim: next }
    expect(keepChecks(checks, SIGNED, now).map(({ about, state }) => [about, state])).toEqual([
      ['SPF', 'good'],
      ['DKIM', 'good'],
      ['New DKIM key', 'unchecked'],
      ['Return path', 'good'],
      ['DMARC', 'good'],
    ])
    expect(keepChecks(checks, SIGNED, now)[2]?.record).toMatchObject(record)
  })
})

describe('one-click', () => {
  test.each<[string, CheckedSender, SenderCheck['state']]>([
    ['signed by Eventpost', SIGNED, 'good'],
    ['without https', { ...SIGNED, hasOneClick: false }, 'caution'],
    ['not seen yet', SENDER, 'unseen'],
    ['seen', through('api.resend.com', seenOf()), 'good'],
    ['in an email without the headers', through('api.resend.com', seenOf({ hasOneClick: false })), 'unseen'],
    [
      'not signed',
      through('api.resend.com', seenOf({ signatures: [{ domain: DOMAIN, selector: 'x', coversOneClick: false }] })),
      'bad',
    ],
    [
      'signed for another organisation',
      through(
        'api.resend.com',
        seenOf({ signatures: [{ domain: 'amazonses.com', selector: 'x', coversOneClick: true }] }),
      ),
      'bad',
    ],
  ])('%s', (_, sender, state) => expect(checkOneClick(sender)).toMatchObject({ state, record: null }))

  test('is no DNS record', async () => {
    expect(listUnchecked(SENDER).map(({ about }) => about)).toEqual(['SPF', 'DKIM', 'Return path', 'DMARC'])
  })

  test.each([
    ['https://post.example.com', true],
    ['http://localhost:3000', true],
    ['http://post.example.com', false],
  ])('at %s: %p, as in the emails', (baseUrl, hasOneClick) => {
    const route = { from: { address: 'hello@example.com' }, host: null, isApi: false }
    const settings = { dkimDomain: null, dkimSelector: null, dkimKey: null }
    const [sender] = listCheckedSenders(route, settings, { emails: [], received: new Map(), baseUrl })
    expect(sender).toMatchObject({ hasOneClick })
  })
})

test('each domain of an app is checked, and a key only over SMTP', () => {
  const settings = { dkimDomain: null, dkimSelector: null, dkimKey: null }
  const seen = seenOf()
  const app = {
    emails: ['ada@example.com', 'bob@mail.example.com', 'hello@example.com'],
    received: new Map([['mail.example.com', seen]]),
    baseUrl: 'https://post.example.com',
  }
  const route = { from: { address: 'hello@example.com' }, host: 'smtp.example.net', isApi: false }
  expect(listCheckedSenders(route, settings, app)).toEqual([
    { domain: 'example.com', server: 'smtp.example.net', dkim: null, nextDkim: null, seen: null, hasOneClick: true },
    { domain: 'mail.example.com', server: 'smtp.example.net', dkim: null, nextDkim: null, seen, hasOneClick: true },
  ])
})

test.each([
  ['shop.example.com', 'news.example.com', true],
  ['example.com', 'example.org', false],
  ['a.uk.com', 'b.uk.com', false],
  ['a.github.io', 'b.github.io', false],
])('%s and %s are aligned for DMARC: %p', (one, other, expected) => expect(isAligned(one, other)).toBe(expected))
