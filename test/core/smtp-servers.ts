import fc from 'fast-check'
import type { SmtpServer } from '../../src/core/mail-addresses.ts'

const HOSTS = ['smtp.example.com', 'localhost', 'mail', 'mail_1', '127.0.0.1', '203.0.113.7', '::1', '2620:fe::fe']

const logins = fc.record({
  // a form trims the user
  user: fc.string({ unit: 'grapheme', minLength: 1 }).filter((user) => user.trim() === user && user !== ''),
  password: fc.string({ unit: 'grapheme' }),
})

/** Any server that a URL can hold. */
export const smtpServers = (): fc.Arbitrary<SmtpServer> =>
  fc
    .record({
      host: fc.constantFrom(...HOSTS),
      port: fc.integer({ min: 1, max: 65_535 }),
      security: fc.constantFrom('tls', 'starttls', 'optional'),
      login: fc.option(logins, { nil: null }),
    })
    .map(({ host, port, security, login }) => ({
      host,
      port,
      isSecure: security === 'tls',
      ...(security === 'optional' ? { login: null, isTlsOptional: true } : { login }),
    }))
