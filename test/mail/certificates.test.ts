/** Servers in a private network, whose certificates nobody else trusts. */
import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'bun:test'
import { NO_SERVER, readServer, writeServer } from '../../src/accounts/mail-server.ts'
import { composeSmtpUrl, readSmtpUrl } from '../../src/core/mail-addresses.ts'
import { CHECK_LIMITS, checkServer } from '../../src/mail/server-check.ts'
import { useClosing } from '../closing.ts'
import { CA, EXPIRED, OWN, SIGNED } from './certificates.ts'
import { startMailServer } from './mail-server.ts'

const keep = useClosing()
const trust = (...pems: string[]) => ({
  certificates: pems.map((pem) => new X509Certificate(pem).raw.toString('base64url')),
})

type Given = { served: { cert: string; key: string }; certificates?: string[]; isSecure?: boolean; host?: string }

async function check({ served, isSecure = false, host = '0.0.0.0', ...trusted }: Given) {
  const server = await startMailServer({}, { ...served, secure: isSecure, disabledCommands: ['AUTH'] })
  keep({ close: server.stop })
  return checkServer({ host, port: server.port, isSecure, login: null, ...trusted }, { limits: CHECK_LIMITS })
}

const FINE = { is: 'fine', isSecure: true }
const NEAR = '127.0.0.1'

test.each<[string, Given, object]>([
  ['signed by the CA', { served: SIGNED, ...trust(CA), host: NEAR }, FINE],
  ['signed by the CA, by TLS', { served: SIGNED, ...trust(CA), host: NEAR, isSecure: true }, FINE],
  ['signed by one of several', { served: SIGNED, ...trust(OWN.cert, CA), host: NEAR }, FINE],
  ["the server's own, for another name", { served: OWN, ...trust(OWN.cert) }, FINE],
  ["the server's own, signed by an unknown CA", { served: SIGNED, ...trust(SIGNED.cert) }, FINE],
  ['nobody', { served: SIGNED }, { is: 'failed', reason: 'euntrusted' }],
  ['another one', { served: OWN, ...trust(CA), host: NEAR }, { is: 'failed', reason: 'euntrusted' }],
  ['the CA, for another name', { served: SIGNED, ...trust(CA) }, { is: 'failed', reason: 'ename' }],
  ['the CA, and expired', { served: EXPIRED, ...trust(CA), host: NEAR }, { is: 'failed', reason: 'eexpired' }],
])('a certificate that is trusted as %s', async (_, given, found) => {
  expect(await check(given)).toMatchObject(found)
})

describe('the form', () => {
  const read = (smtpCertificates: string, changes: object = {}) =>
    readServer({ ...NO_SERVER, smtpHost: 'mail.internal', ...changes, smtpCertificates }, [])

  test('reads certificates, which survive in the URL', () => {
    const reading = read(`Comment\n${CA}\n\n${OWN.cert.replaceAll('\n', '\r\n')}\n`)
    if ('errors' in reading) throw new Error(JSON.stringify(reading))
    expect(reading.server).toMatchObject(trust(CA, OWN.cert))
    expect(readSmtpUrl(composeSmtpUrl(reading.server))).toEqual(reading.server)
    expect(writeServer(reading.server).smtpCertificates).toBe(`${CA}\n${OWN.cert}\n`)
  })

  test.each([
    ['nonsense', 'Paste a certificate in PEM format, starting with -----BEGIN CERTIFICATE-----.'],
    [OWN.key, 'This is a private key. Paste the certificate only.'],
    [CA.replace('MII', 'XXX'), "Certificate 1 can't be read. Copy all of its lines."],
    [`${CA}\n`.repeat(6), 'Enter up to 5 certificates.'],
  ])('refuses %#', (text, message) => {
    expect(read(text)).toEqual({ errors: [{ field: 'smtpCertificates', code: 'invalid', message }] })
  })

  test('refuses certificates without TLS', () => {
    expect(read(CA, { smtpSecurity: 'optional' })).toMatchObject({ errors: [{ field: 'smtpSecurity' }] })
  })
})
