import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type ApiAccount,
  composeMailUrl,
  describeService,
  isApi,
  isApiName,
  originOf,
  readMailUrl,
} from '../../src/core/mail-apis.ts'

const POSTMARK = { api: 'postmark', key: 'token', host: 'api.postmarkapp.com', port: null, stream: 'outbound' } as const
const SES = {
  api: 'ses',
  key: 'wJalr/bP+x',
  host: 'email.eu-west-1.amazonaws.com',
  port: null,
  stream: null,
  aws: { keyId: 'AKIAIOSFODNN7EXAMPLE', region: 'eu-west-1' },
} as const
const AT_SES = 'ses://AKIAIOSFODNN7EXAMPLE:wJalr%2FbP%2Bx@'
const RESEND = { api: 'resend', key: 're_1', host: 'api.resend.com', port: null, stream: null } as const

describe('the URL of an account', () => {
  test.each<[string, ApiAccount]>([
    ['postmark://token@api.postmarkapp.com', POSTMARK],
    ['postmark://token@api.postmarkapp.com/', POSTMARK],
    ['postmark://token@api.postmarkapp.com/news-1', { ...POSTMARK, stream: 'news-1' }],
    ['postmark://token@127.0.0.1:9000/outbound', { ...POSTMARK, host: '127.0.0.1', port: 9000 }],
    ['postmark://token@[::1]:9000', { ...POSTMARK, host: '::1', port: 9000 }],
    ['resend://re_1@api.resend.com', RESEND],
    [`${AT_SES}email.eu-west-1.amazonaws.com`, SES],
    [`${AT_SES}email.eu-west-1.amazonaws.com/reports`, { ...SES, stream: 'reports' }],
    [`${AT_SES}127.0.0.1:9000`, { ...SES, host: '127.0.0.1', port: 9000, aws: { ...SES.aws, region: 'us-east-1' } }],
    ['resend://a%2Fb%40c@api.resend.com', { ...RESEND, key: 'a/b@c' }],
  ])('%p is read', (url, account) => {
    expect(readMailUrl(url)).toEqual(account)
  })

  test.each([
    'resend://re_1',
    'resend://@api.resend.com',
    'resend://re_1@evil.example',
    'resend://re_1@api.postmarkapp.com',
    'resend://re_1@api.resend.com:8443',
    'resend://re_1@127.0.0.1',
    'resend://re_1:more@api.resend.com',
    'resend://re_1@api.resend.com/stream',
    'resend://re_1@api.resend.com?a=b',
    'resend://re_1@api.resend.com#a',
    'resend://a%0D%0Ab@api.resend.com',
    'resend://%zz@api.resend.com',
    'postmark://token@api.postmarkapp.com/a/b',
    'constructor://a@b',
    'ses://AKIAIOSFODNN7EXAMPLE@email.eu-west-1.amazonaws.com',
    'ses://akia:b@email.eu-west-1.amazonaws.com',
    `${AT_SES}email.nowhere.amazonaws.com`,
    `${AT_SES}eu-west-1.amazonaws.com`,
    `${AT_SES}email.eu-west-1.amazonaws.com.evil.example`,
    `${AT_SES}email.eu-west-1.us-east-1.amazonaws.com`,
    `${AT_SES}email.eu-west-1.amazonaws.com/a/b`,
    'ses://AKIAIOSFODNN7EXAMPLE:a/b@email.eu-west-1.amazonaws.com',
  ])('%p is refused', (url) => expect(readMailUrl(url)).toBeNull())

  test('holds any key and stream', () => {
    const streams = fc.stringMatching(/^[A-Za-z0-9_-]{1,100}$/)
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]{1,500}$/), streams, fc.boolean(), (key, stream, isStandIn) => {
        const place = isStandIn ? { host: '127.0.0.1', port: 1 } : {}
        for (const account of [
          { ...POSTMARK, key, stream, ...place },
          { ...RESEND, key, ...place },
          isStandIn ? { ...SES, key, ...place, aws: { ...SES.aws, region: 'us-east-1' } } : { ...SES, key, stream },
        ])
          expect(readMailUrl(composeMailUrl(account))).toEqual(account)
      }),
    )
  })

  test('leads to the provider over https, or to this machine', () => {
    expect([POSTMARK, { ...RESEND, host: '::1', port: 80 }].map(originOf)).toEqual([
      'https://api.postmarkapp.com',
      'http://[::1]:80',
    ])
  })

  test('is described without the key', () => {
    const servers = [
      `${AT_SES}email.eu-west-1.amazonaws.com`,
      'resend://re_1@api.resend.com',
      'resend://re_1@127.0.0.1:90',
      'smtp://u:p@mail.example.com:25',
    ]
    expect(servers.map((url) => readMailUrl(url)).map((read) => read && describeService(read))).toEqual([
      'Amazon SES (eu-west-1)',
      'Resend',
      'Resend at 127.0.0.1:90',
      'mail.example.com:25',
    ])
  })
})

test('a mail server is no account, and only known names are APIs', () => {
  const server = readMailUrl('smtp://mail.example.com')
  expect(server && isApi(server)).toBe(false)
  expect(['postmark', 'smtp', 'toString'].map(isApiName)).toEqual([true, false, false])
})
