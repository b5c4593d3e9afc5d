import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MAIL_PROVIDERS, providerOfHost } from '../../src/accounts/mail-providers.ts'
import {
  type KnownLogin,
  NO_SERVER,
  readServer,
  sealTyped,
  type ServerText,
  unsealTyped,
  urlOf,
  writeProvider,
  writeServer,
} from '../../src/accounts/mail-server.ts'
import { readSmtpUrl, type SmtpServer } from '../../src/core/mail-addresses.ts'
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
  const text = { ...NO_SERVER, smtpHost: HOST, smtpUser: 'me', smtpPassword: 'pa55' }
  const later = { ...text, smtpPassword: '' }

  test('is not readable, and comes back', () => {
    const sealed = sealTyped(sealing, text, '')
    expect(sealed).not.toContain('pa55')
    expect(sealTyped(sealing, later, sealed)).toBe(sealed)
    expect(unsealTyped(sealing, later, sealed)).toEqual({ host: HOST, login: { user: 'me', password: 'pa55' } })
  })

  test.each([
    [sealing, { ...later, smtpHost: 'evil.example' }],
    [sealing, { ...later, smtpUser: 'you' }],
    [{ ...sealing, appId: 'app_2' }, later],
    [{ ...sealing, key: 'other' }, later],
  ])('does not come back elsewhere (%#)', (where, what) => {
    expect(unsealTyped(where, what, sealTyped(sealing, text, ''))).toBe(null)
  })

  test('is nothing without a user', () => expect(sealTyped(sealing, { ...text, smtpUser: '' }, '')).toBe(''))
})

test('presets are servers that the form accepts, with different names', () => {
  for (const provider of MAIL_PROVIDERS) {
    const login = { smtpUser: 'me', smtpPassword: 'x' }
    expect(readServer({ ...writeProvider(provider), ...login }, [])).toMatchObject({ server: { host: provider.host } })
    expect(providerOfHost(provider.host)).toBe(provider)
  }
  expect(new Set(MAIL_PROVIDERS.map(({ id }) => id)).size).toBe(MAIL_PROVIDERS.length)
  expect(providerOfHost('smtp.resend.com.evil.example')).toBe(null)
})
