import { describe, expect, test } from 'bun:test'
import { NO_SETTINGS } from '../../src/store/mail-settings.ts'
import type { MailSettings, MessageRow } from '../../src/store/message-types.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { dialAny } from '../../src/mail/dial.ts'
import { createRoutes, type Route } from '../../src/mail/routes.ts'
import { CONTENT } from './sending.ts'

const OURS = { smtpUrl: 'smtp://me:secret@mail.example.com', from: 'Eventpost <post@example.com>' }

const HOUR = 3_600_000
const APP = { name: 'Acme Notes' }

function find(
  settings: Partial<MailSettings> = {},
  mail: object = {},
  defaults: Parameters<typeof createRoutes>[0] = OURS,
) {
  const opened: string[] = []
  const closed: string[] = []
  let now = 0
  const createProvider = (url: string): Provider | null => {
    opened.push(url)
    const provider: Provider = { send: async () => ({ is: 'sent' }), close: () => void closed.push(url) }
    return url.startsWith('smtp') ? provider : null
  }
  const time = (): number => now
  const clock = { now: time, monotonicMs: time, steadyNow: time }
  const routes = createRoutes(defaults, { clock, dialOwn: dialAny, createProvider })
  const message: MessageRow = {
    id: 1,
    accountId: 'acc',
    appId: 1,
    name: 'Results',
    status: 'live',
    version: 1,
    createdAt: 0,
    updatedAt: 0,
    content: { ...CONTENT, mail: { ...CONTENT.mail, ...mail } },
  }
  const work = { message, settings: { ...NO_SETTINGS, ...settings }, app: APP }
  const wait = (ms: number): void => void (now += ms)
  const again = (changes: Partial<MailSettings> = {}) =>
    routes.find({ ...work, settings: { ...work.settings, ...changes } })
  return { route: again(), again, wait, opened, closed }
}

describe('the sender', () => {
  test.each([
    [{}, {}, { name: 'Eventpost', address: 'post@example.com' }],
    [{ fromEmail: 'a@studio.example' }, {}, { name: 'Eventpost', address: 'a@studio.example' }],
    [{ fromName: 'Studio' }, {}, { name: 'Studio', address: 'post@example.com' }],
    [{ fromName: 'Studio', fromEmail: 'a@studio.example' }, {}, { name: 'Studio', address: 'a@studio.example' }],
    [{ fromName: 'Studio' }, { fromName: 'Ada', fromEmail: 'b@x.example' }, { name: 'Ada', address: 'b@x.example' }],
  ])('comes from the message, the app or the installation (%#)', (settings, mail, from) => {
    expect(find(settings, mail).route).toMatchObject({ from })
  })

  test('has the name of the app if no other is set', () => {
    const unnamed = { smtpUrl: null, from: 'post@example.com' }
    const named = (address: string) => ({ from: { name: 'Acme Notes', address } })
    expect(find({}, {}, unnamed).route).toMatchObject(named('post@example.com'))
    const own = { fromEmail: 'a@studio.example' }
    expect(find(own, {}, { smtpUrl: null, from: null }).route).toMatchObject(named('a@studio.example'))
    expect(find(own, { fromName: 'Ada' }, unnamed).route).toMatchObject({ from: { name: 'Ada' } })
  })

  test('is missing if none is set', () => {
    expect(find({}, {}, { smtpUrl: null, from: null }).route).toEqual({ fault: 'no_sender' })
    expect(find({ fromName: 'Studio' }, {}, { smtpUrl: null, from: null }).route).toEqual({ fault: 'no_sender' })
  })

  test('gets the reply address of the message or the app', () => {
    expect(find({ replyTo: 'help@studio.example' }).route).toMatchObject({
      replyTo: { address: 'help@studio.example' },
    })
    expect(find({ replyTo: 'help@studio.example' }, { replyTo: 'me@studio.example' }).route).toMatchObject({
      replyTo: { address: 'me@studio.example' },
    })
    expect(find().route).toMatchObject({ replyTo: null })
  })
})

describe('the server', () => {
  test('comes from the app or the installation, opens once, and is shown without its password', () => {
    const { route, again, opened } = find()
    expect(route).toMatchObject({ login: { server: 'smtp://mail.example.com:587' } })
    again()
    expect(opened).toEqual([OURS.smtpUrl])
    expect(find({ smtpUrl: 'smtps://own.example' }).route).toMatchObject({
      login: { server: 'app smtps://own.example:465' },
    })
  })

  test('is closed after an hour without use', () => {
    const { route, again, wait, opened, closed } = find()
    const other = { smtpUrl: 'smtp://other.example.com' }
    again(other)
    wait(HOUR - 1)
    expect('login' in route && route.login === (again() as Route).login).toBe(true)
    wait(1)
    again()
    expect([opened, closed]).toEqual([[OURS.smtpUrl, other.smtpUrl], [other.smtpUrl]])
    again(other)
    expect(opened).toHaveLength(3)
  })

  test('is absent without settings: emails are captured', () => {
    const { route, opened } = find({}, {}, { ...OURS, smtpUrl: null })
    expect([route, opened]).toMatchObject([{ login: { server: 'capture', provider: null } }, []])
  })

  test('reports an unusable one', () => {
    expect(find({ smtpUrl: 'http://own.example' }).route).toEqual({ fault: 'smtp_url' })
  })
})

test('emails are signed if domain, selector and key are set', () => {
  const dkim = { dkimDomain: 'studio.example', dkimSelector: 's1', dkimKey: 'pem' }
  expect(find(dkim).route).toMatchObject({ dkim: { domain: 'studio.example', selector: 's1', key: 'pem' } })
  expect(find({ ...dkim, dkimKey: null }).route).toMatchObject({ dkim: null })
})
