import { describe, expect, test } from 'bun:test'
import { NO_SETTINGS } from '../../src/store/message-reads.ts'
import type { MailSettings, MessageRow } from '../../src/store/message-types.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { createRoutes } from '../../src/mail/routes.ts'
import { CONTENT } from './sending.ts'

const OURS = { smtpUrl: 'smtp://me:secret@mail.example.com', from: 'Eventpost <post@example.com>' }

function find(
  settings: Partial<MailSettings> = {},
  mail: object = {},
  defaults: Parameters<typeof createRoutes>[0] = OURS,
) {
  const opened: string[] = []
  const routes = createRoutes(defaults, (url) => {
    opened.push(url)
    const provider: Provider = { send: async () => ({ is: 'sent' }), close: () => {} }
    return url.startsWith('smtp') ? provider : null
  })
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
  const work = { message, settings: { ...NO_SETTINGS, ...settings } }
  return { route: routes.find(work), again: () => routes.find(work), opened }
}

describe('the sender', () => {
  test.each([
    [{}, {}, { name: 'Eventpost', address: 'post@example.com' }],
    [{ fromName: 'Studio' }, {}, { name: 'Studio', address: 'post@example.com' }],
    [{ fromName: 'Studio', fromEmail: 'a@studio.example' }, {}, { name: 'Studio', address: 'a@studio.example' }],
    [{ fromName: 'Studio' }, { fromName: 'Ada', fromEmail: 'b@x.example' }, { name: 'Ada', address: 'b@x.example' }],
  ])('is the message’s, the app’s or the installation’s (%#)', (settings, mail, from) => {
    expect(find(settings, mail).route).toMatchObject({ from })
  })

  test('is missing where nobody says one', () => {
    expect(find({}, {}, { smtpUrl: null, from: null }).route).toEqual({ fault: 'no_sender' })
    expect(find({ fromName: 'Studio' }, {}, { smtpUrl: null, from: null }).route).toEqual({ fault: 'no_sender' })
  })

  test('is answered where the message or the app says', () => {
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
  test('is the app’s or the installation’s, is opened once, and is named without its password', () => {
    const { route, again, opened } = find()
    expect(route).toMatchObject({ server: 'smtp://mail.example.com:587' })
    again()
    expect(opened).toEqual([OURS.smtpUrl])
    expect(find({ smtpUrl: 'smtps://own.example' }).route).toMatchObject({ server: 'smtps://own.example:465' })
  })

  test('is none where nothing is set: mails are kept', () => {
    const { route, opened } = find({}, {}, { ...OURS, smtpUrl: null })
    expect([route, opened]).toMatchObject([{ server: 'capture', provider: null }, []])
  })

  test('that cannot be used is said', () => {
    expect(find({ smtpUrl: 'http://own.example' }).route).toEqual({ fault: 'smtp_url' })
  })
})

test('mails are signed where domain, selector and key are all there', () => {
  const dkim = { dkimDomain: 'studio.example', dkimSelector: 's1', dkimKey: 'pem' }
  expect(find(dkim).route).toMatchObject({ dkim: { domain: 'studio.example', selector: 's1', key: 'pem' } })
  expect(find({ ...dkim, dkimKey: null }).route).toMatchObject({ dkim: null })
})
