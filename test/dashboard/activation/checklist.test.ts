import { beforeEach, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { listSteps, nextStep, type SetupFacts } from '../../../src/dashboard/activation/checklist.ts'
import type { Activation, Noted } from '../../../src/events/activation.ts'
import type { MessageContent, MessageRow } from '../../../src/messages/messages.ts'
import { useEditing } from '../messages/editing.ts'
import { textOf } from '../pages.ts'

const content = FIRST_MESSAGES[0]?.content ?? ({} as MessageContent)
const draft: MessageRow = {
  id: 1,
  accountId: 'acc_1',
  appId: 1,
  name: 'Results',
  status: 'draft',
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  content,
}
const noted: Noted = { count: 1, lastAt: 7, reason: null, origin: null }
const nothing: Activation = {
  state: 'waiting',
  message: null,
  lastEventAt: null,
  lastNamedAt: null,
  lastViewAt: null,
  lastIdentified: null,
  failedSignature: null,
  oldSecret: null,
  unknownPeople: null,
  withoutEmail: null,
  scriptLoaded: null,
  refused: null,
  foreignHost: null,
  limited: null,
  refusedCall: null,
}
const fresh: SetupFacts = {
  appId: 'app_1',
  activation: nothing,
  keyUsedAt: null,
  messages: [draft],
  hasSentEmail: false,
  hasServer: false,
}
const saw = (activation: Partial<Activation>): SetupFacts => ({ ...fresh, activation: { ...nothing, ...activation } })
const event = { lastNamedAt: 5, lastEventAt: 5 }
const live = { ...draft, status: 'live' as const }

const next = (facts: SetupFacts) => {
  const step = nextStep(listSteps(facts))
  return step && [step.name, step.text, step.link.href]
}

describe('the next step', () => {
  test.each<[string, SetupFacts, string[]]>([
    ['is an event', fresh, ['First event', 'Send one from your server.', '/apps/app_1/activation#code']],
    [
      'is an event, after calls that recorded none',
      { ...fresh, keyUsedAt: 3 },
      [
        'First event',
        'Your server has sent requests, but no event has been recorded yet.',
        '/apps/app_1/activation#code',
      ],
    ],
    [
      'is the browser script',
      saw(event),
      [
        'Browser script',
        'Add the script tag to your pages, so nobody is emailed about a page they have open.',
        '/apps/app_1/activation#tag',
      ],
    ],
    [
      'is the signature',
      saw({ ...event, scriptLoaded: noted }),
      [
        'Signed-in people',
        'Call identify with the email and its signature after sign-in.',
        '/apps/app_1/activation#check',
      ],
    ],
    [
      'is a wrong signature',
      saw({ ...event, scriptLoaded: noted, failedSignature: noted }),
      [
        'Signed-in people',
        'A signature was wrong. Check how your server signs the email.',
        '/apps/app_1/activation#check',
      ],
    ],
    [
      'is the draft',
      saw({ ...event, scriptLoaded: noted, lastIdentified: noted }),
      ['Live message', 'Go live with “Results”, or write your own.', '/apps/app_1/messages/msg_01'],
    ],
    [
      'is a message of their own',
      { ...saw({ ...event, lastViewAt: 6 }), messages: [] },
      ['Live message', 'Write one and go live.', '/apps/app_1/messages/new'],
    ],
    [
      'is the mail server',
      { ...saw({ ...event, lastViewAt: 6 }), messages: [live] },
      ['First email sent', 'Emails are captured until a mail server is set up.', '/apps/app_1/sender/server'],
    ],
    [
      'is to wait',
      { ...saw({ ...event, lastViewAt: 6 }), messages: [live], hasServer: true },
      ['First email sent', 'Sent when someone triggers a live message.', '/apps/app_1/deliveries'],
    ],
  ])('%s', (_, facts, step) => {
    const [name = '', text = '', href = ''] = step
    expect(next(facts)?.slice(0, 2)).toEqual([name, text])
    expect(next(facts)?.[2]).toStartWith(href.replace(/msg_01$/, 'msg_'))
  })
})

test('nothing is next once an email was sent, even if the message is paused since', () => {
  expect(next({ ...saw({ ...event, lastViewAt: 6 }), hasSentEmail: true })).toBeNull()
})

test('each step has its own time', () => {
  const activation = { ...event, scriptLoaded: noted, lastIdentified: { ...noted, lastAt: 9 }, lastViewAt: 8 }
  expect(listSteps(saw(activation)).map(({ at }) => at)).toEqual([5, 7, 9, null, null])
})

describe('on Activation', () => {
  const pages = useEditing()
  let html = ''
  beforeEach(async () => {
    await pages.event()
    html = (await pages.browser.get(pages.at('activation'))).html
  })

  test('only the next step says what to do', async () => {
    expect(await textOf(html, '.steps a')).toEqual([
      'Show the script tag',
      'Signed-in people',
      'Live message',
      'First email sent',
    ])
    expect(await textOf(html, '.step.due .unseen')).toEqual([': next'])
    expect(await textOf(html, '.step.done .hint')).toEqual([expect.stringMatching(/^Last seen /)])
    expect(await textOf(html, '.step .unseen')).toEqual([': done', ': next', ': to do', ': to do', ': to do'])
  })

  test('the code folds once the server has called, and the rest once it is in use', async () => {
    expect(await textOf(html, 'summary h2')).toEqual(['Check a signature'])
    pages.notes.add(pages.app.id, 'script_loaded')
    const { html: loaded } = await pages.browser.get(pages.at('activation'))
    expect(await textOf(loaded, 'summary h2')).toEqual(['Script tag for your pages'])
    const access = await pages.access.find(pages.begun.apiKey)
    if (access) pages.access.noteUse(access, false)
    pages.notes.add(pages.app.id, 'script_loaded')
    pages.notes.add(pages.app.id, 'identified')
    const { html: later } = await pages.browser.get(pages.at('activation'))
    expect(await textOf(later, 'summary h2')).toEqual([
      'Code for your server',
      'Script tag for your pages',
      'Check a signature',
    ])
  })
})
