import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  composeSmtpUrl,
  makeMailbox,
  readMailbox,
  readSmtpUrl,
  type SmtpServer,
} from '../../src/core/mail-addresses.ts'
import { smtpServers } from './smtp-servers.ts'

describe('readMailbox', () => {
  test.each([
    ['ada@example.com', { name: '', address: 'ada@example.com' }],
    [' Ada@Example.com ', { name: '', address: 'ada@example.com' }],
    ['Ada <ada@example.com>', { name: 'Ada', address: 'ada@example.com' }],
    ['"Lovelace, Ada" <ada@example.com>', { name: 'Lovelace, Ada', address: 'ada@example.com' }],
    ['<ada@example.com>', { name: '', address: 'ada@example.com' }],
  ])('%p', (text, mailbox) => {
    expect(readMailbox(text)).toEqual(mailbox)
  })

  test.each([
    '',
    'Ada',
    'ada@example.com, eve@example.com',
    'Ada <ada@example.com>, Eve <eve@example.com>',
    'Ada <ada@example.com> <eve@example.com>',
    'ada@example.com\r\nBcc: eve@example.com',
    'Ada <ada@exam\r\nple.com>',
    'ada@localhost',
  ])('refuses %p', (text) => {
    expect(readMailbox(text)).toBeNull()
  })
})

test('makeMailbox keeps a name on one line, and short', () => {
  expect(makeMailbox('A\r\nBcc: x@example.com', 'ada@example.com')?.name).toBe('A Bcc: x@example.com')
  expect(makeMailbox('x'.repeat(500), 'ada@example.com')?.name).toHaveLength(100)
  const words = 'word '.repeat(40).trim()
  expect(makeMailbox(words, 'ada@example.com')?.name).toBe(words.slice(0, 99))
  expect(makeMailbox(`${'x'.repeat(100)} and more`, 'ada@example.com')?.name).toBe('x'.repeat(100))
  expect(makeMailbox('Ada', 'ada@example.com\r\nRCPT TO:<eve@example.com>')).toBeNull()
})

describe('readSmtpUrl', () => {
  const server = { host: 'mail.example.com', port: 587, isSecure: false, login: null }
  test.each<[string, SmtpServer]>([
    ['smtp://mail.example.com', server],
    ['smtp://mail.example.com/', server],
    ['smtps://mail.example.com', { ...server, port: 465, isSecure: true }],
    ['smtp://mail.example.com:2525', { ...server, port: 2525 }],
    ['smtp://mail.example.com:25?tls=optional', { ...server, port: 25, isTlsOptional: true }],
    ['smtp://[::1]:25', { ...server, host: '::1', port: 25 }],
    ['smtp://me%40x:p%3A%2F@mail.example.com', { ...server, login: { user: 'me@x', password: 'p:/' } }],
  ])('%p', (text, read) => {
    expect(readSmtpUrl(text)).toEqual(read)
  })

  test.each([
    '',
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://a/path',
    'smtp://a?x=1',
    'smtp://a?tls=none',
    'smtps://a?tls=optional',
    'smtp://user:password@a?tls=optional',
    'smtp://:password@a',
    'smtp://%ff@a',
  ])('refuses %p', (text) => {
    expect(readSmtpUrl(text)).toBeNull()
  })
})

test('composeSmtpUrl writes what readSmtpUrl reads', () => {
  fc.assert(fc.property(smtpServers(), (server) => expect(readSmtpUrl(composeSmtpUrl(server))).toEqual(server)))
})
