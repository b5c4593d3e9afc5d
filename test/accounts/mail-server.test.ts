import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type ApiText, readApiAccount, readApiText, storedKey, writeApiText } from '../../src/accounts/api-account.ts'
import { MAIL_PROVIDERS, providerOfApi, providerOfHost } from '../../src/accounts/mail-providers.ts'
import {
  type KnownLogin,
  NO_SERVER,
  readServer,
  type ServerText,
  typedLogin,
  urlOf,
  writeProvider,
  writeServer,
} from '../../src/accounts/mail-server.ts'
import { readSmtpUrl, type SmtpServer } from '../../src/core/mail-addresses.ts'
import { sealTyped, unsealTyped } from '../../src/accounts/typed-secrets.ts'
import { smtpServers } from '../core/smtp-servers.ts'

const HOST = 'smtp.example.com'
const read = (changes: Partial<ServerText>, known: KnownLogin[] = []) =>
  readServer({ ...NO_SERVER, smtpHost: HOST, ...changes }, known)
const faultsOf = (changes: Partial<ServerText>, known: KnownLogin[] = []) => {
  const reading = read(changes, known)
  return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
}

describe('the form of a mail server', () => {
  test('shows any server, and reads the same one from it', () => {
    fc.assert(
      fc.property(smtpServers(), (server) => {
        const known = [{ host: server.host, login: server.login }]
        expect(readServer(writeServer(server), known)).toEqual({ server })
      }),
    )
  })

  test('never shows a password', () => {
    fc.assert(
      fc.property(smtpServers(), (server) => {
        expect(writeServer(server).smtpPassword).toBe('')
      }),
    )
  })

  test.each<[Partial<ServerText>, Partial<SmtpServer>]>([
    [{}, { host: HOST, port: 587, isSecure: false, login: null }],
    [{ smtpHost: ' SMTP.Example.com ' }, { host: HOST }],
    [{ smtpHost: '[::1]' }, { host: '::1' }],
    [{ smtpHost: 'mail_1' }, { host: 'mail_1' }],
    [
      { smtpPort: '', smtpSecurity: 'tls' },
      { port: 465, isSecure: true },
    ],
    [
      { smtpPort: '', smtpSecurity: 'optional' },
      { port: 25, isSecure: false, isTlsOptional: true },
    ],
    [{ smtpUser: ' me ', smtpPassword: ' p:/@ ' }, { login: { user: 'me', password: ' p:/@ ' } }],
  ])('reads %j', (text, server) => expect(read(text)).toMatchObject({ server }))

  test.each<[Partial<ServerText>, string]>([
    [{ smtpHost: '' }, 'smtpHost'],
    [{ smtpHost: 'smtps://smtp.example.com:465' }, 'smtpHost'],
    [{ smtpHost: '127.1' }, 'smtpHost'],
    [{ smtpHost: 'a b' }, 'smtpHost'],
    [{ smtpPort: '0' }, 'smtpPort'],
    [{ smtpPort: '65536' }, 'smtpPort'],
    [{ smtpPort: '5x' }, 'smtpPort'],
    [{ smtpPassword: 'secret' }, 'smtpUser'],
    [{ smtpUser: 'me' }, 'smtpPassword'],
    [{ smtpUser: 'me', smtpPassword: 'x', smtpSecurity: 'optional' }, 'smtpSecurity'],
  ])('refuses %j', (text, field) => expect(faultsOf(text)).toEqual([field]))

  test('keeps a known password only for its host and user', () => {
    const known = [{ host: HOST, login: { user: 'me', password: 'old' } }]
    expect(read({ smtpUser: 'me' }, known)).toMatchObject({ server: { login: { password: 'old' } } })
    expect(read({ smtpUser: 'me', smtpPassword: 'new' }, known)).toMatchObject({
      server: { login: { password: 'new' } },
    })
    expect(faultsOf({ smtpUser: 'me', smtpHost: 'evil.example' }, known)).toEqual(['smtpPassword'])
    expect(faultsOf({ smtpUser: 'you' }, known)).toEqual(['smtpPassword'])
    expect(read({}, known)).toMatchObject({ server: { login: null } })
  })
})

test('the stored URL stays if it means the same server', () => {
  const server = readSmtpUrl('smtp://me:p@smtp.example.com')
  if (!server) throw new Error('unreadable')
  expect(urlOf(server, 'smtp://me:p@smtp.example.com')).toBe('smtp://me:p@smtp.example.com')
  expect(urlOf({ ...server, port: 25 }, 'smtp://me:p@smtp.example.com')).toBe('smtp://me:p@smtp.example.com:25')
  expect(urlOf(server, null)).toBe('smtp://me:p@smtp.example.com:587')
})

describe('a typed password that a page carries', () => {
  const sealing = { key: 'k', appId: 'app_1' }
  const text = { ...NO_SERVER, smtpHost: ` ${HOST.toUpperCase()}`, smtpUser: 'me ', smtpPassword: 'pa55' }
  const typed = typedLogin(text)
  const later = typed && { ...typed, secret: '' }
  const sealed = sealTyped(sealing, typed, '')

  test('is not readable, and comes back', () => {
    expect(typed).toEqual({ host: HOST, user: 'me', secret: 'pa55' })
    expect(sealed).not.toContain('pa55')
    expect(sealTyped(sealing, later, sealed)).toBe(sealed)
    expect(unsealTyped(sealing, later, sealed)).toBe('pa55')
  })

  test.each([
    [sealing, { host: 'evil.example', user: 'me', secret: '' }],
    [sealing, { host: HOST, user: 'you', secret: '' }],
    [{ ...sealing, appId: 'app_2' }, later],
    [{ ...sealing, key: 'other' }, later],
  ])('does not come back elsewhere (%#)', (where, what) => {
    expect(unsealTyped(where, what, sealed)).toBe(null)
  })

  test('is nothing without a user', () => {
    expect(typedLogin({ ...text, smtpUser: '' })).toBe(null)
    expect(sealTyped(sealing, null, '')).toBe('')
  })
})

describe('the form of an account at an API', () => {
  const readForm = (changes: Partial<ApiText>, known: string | null = null) =>
    readApiAccount({ api: 'postmark', apiKey: '', apiStream: '', awsKeyId: '', awsRegion: '', ...changes }, known)
  const faultsIn = (...given: Parameters<typeof readForm>) => {
    const reading = readForm(...given)
    return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
  }

  test('reads the key and the stream', () => {
    expect(readForm({ apiKey: ' token ', apiStream: ' news ' })).toMatchObject({
      account: { key: 'token', stream: 'news' },
    })
    expect(readForm({ apiKey: 'token' })).toMatchObject({
      account: { host: 'api.postmarkapp.com', stream: 'outbound' },
    })
    expect(readForm({ api: 'resend', apiKey: 're_1', apiStream: 'a b' })).toMatchObject({ account: { stream: null } })
  })

  const SES = { api: 'ses', apiKey: 'a/b', awsKeyId: ' AKIAIOSFODNN7EXAMPLE ', awsRegion: 'eu-west-1' } as const

  test('reads the account at Amazon SES, and says what is missing', () => {
    const aws = { keyId: 'AKIAIOSFODNN7EXAMPLE', region: 'eu-west-1' }
    const host = 'email.eu-west-1.amazonaws.com'
    expect(readForm(SES)).toMatchObject({ account: { key: 'a/b', host, stream: null, aws } })
    expect(readForm({ ...SES, apiStream: 'reports' })).toMatchObject({ account: { stream: 'reports' } })
    expect(faultsIn({ api: 'ses' })).toEqual(['awsRegion', 'awsKeyId', 'apiKey'])
    const wrong = { awsRegion: 'nowhere', awsKeyId: 'akia', apiKey: 'a b', apiStream: 'a/b' }
    expect(faultsIn({ api: 'ses', ...wrong })).toEqual(['awsRegion', 'awsKeyId', 'apiKey', 'apiStream'])
  })

  test('keeps a stored key for its own account only', () => {
    const text = { ...SES, apiKey: '', apiStream: '' }
    const reading = readForm(SES)
    const stored = 'account' in reading ? reading.account : null
    expect(storedKey(text, stored)).toBe('a/b')
    expect(storedKey({ ...text, awsKeyId: 'AKIAIOSFODNN7ANOTHER' }, stored)).toBe(null)
    expect(storedKey({ ...text, api: 'postmark', awsKeyId: '' }, stored)).toBe(null)
  })

  test('keeps a known key, which it never shows', () => {
    const reading = readForm({}, 'known')
    expect(reading).toMatchObject({ account: { key: 'known' } })
    expect(JSON.stringify('account' in reading && writeApiText('postmark', reading.account))).not.toContain('known')
  })

  test('refuses what no key or stream is', () => {
    expect(faultsIn({})).toEqual(['apiKey'])
    expect(faultsIn({ apiKey: 'a b', apiStream: 'a/b' })).toEqual(['apiKey', 'apiStream'])
  })

  test('is that of a mail server without a known name', () => {
    expect(readApiText((name) => (name === 'api' ? 'constructor' : ''))).toBe(null)
    expect(readApiText((name) => (name === 'api' ? 'resend' : 'x'))).toEqual({
      api: 'resend',
      apiKey: 'x',
      apiStream: 'x',
      awsKeyId: 'x',
      awsRegion: 'x',
    })
  })
})

test('presets are servers that the form accepts, with different names', () => {
  for (const provider of MAIL_PROVIDERS) {
    const login = { smtpUser: 'me', smtpPassword: 'x' }
    expect(readServer({ ...writeProvider(provider), ...login }, [])).toMatchObject({ server: { host: provider.host } })
    expect(providerOfHost(provider.host)).toBe(provider)
  }
  expect(new Set(MAIL_PROVIDERS.map(({ id }) => id)).size).toBe(MAIL_PROVIDERS.length)
  expect(providerOfHost('smtp.resend.com.evil.example')).toBe(null)
  expect([providerOfHost('api.resend.com')?.name, providerOfApi('postmark')?.name]).toEqual(['Resend', 'Postmark'])
})
