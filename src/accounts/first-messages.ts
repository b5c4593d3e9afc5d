import type { MessageContent } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { RESULTS_READY } from '../core/field-patterns.ts'

/** A later result gets another email; results that are ready together share one. */
const ONCE_PER_RESULT: MessageContent['again'] = {
  once: 'property',
  property: ['resultId', 'url'],
  collect: { minutes: 30 },
}

/** The headline of one result says that it is ready. */
const open = (ready: string): string =>
  `{% if events.size > 1 %}Your {{ events.size }} results ${ready}.{% elsif event.headline %}**{{ event.headline }}**{% else %}Your results ${ready}.{% endif %}`

/** One result: a button. Several: a list of links. Without a `url` they lead to the home page. */
const RESULTS = [
  '{% if events.size > 1 %}',
  '{% for event in events %}{% assign link = event.url | default: app.homeUrl %}',
  '- {% if link %}[{{ event.headline | default: "See your results" }}]({{ link }}){% else %}{{ event.headline | default: "Your results" }}{% endif %}',
  '{% endfor %}',
  '{% else %}',
  '{% assign link = event.url | default: app.homeUrl %}{% if link %}[See your results]({{ link }}){% endif %}',
  '{% endif %}',
].join('\n')

export const FIRST_MESSAGES: { name: string; content: MessageContent }[] = [
  {
    name: 'Results ready, they left',
    content: {
      trigger: { event: RESULTS_READY },
      wait: { minutes: 10 },
      onlyIf: [
        { rule: 'notSeen', ifUnknown: 'send' },
        { rule: 'away', at: 'trigger', ifUnknown: 'send' },
        { rule: 'away', minutes: 5, ifUnknown: 'send' },
      ],
      again: ONCE_PER_RESULT,
      mail: {
        subject:
          '{% if events.size > 1 %}Your {{ events.size }} results are ready{% else %}{{ event.headline | default: "Your results are ready" }}{% endif %}',
        preheader: 'Take a look whenever you like.',
        body: ['Hi {{ contact.firstName | default: "there" }},', open('are ready'), RESULTS].join('\n\n'),
      },
    },
  },
  {
    name: 'Results not opened yet',
    content: {
      trigger: { event: RESULTS_READY },
      wait: { minutes: 24 * 60 },
      // unknown people may have opened them long ago
      onlyIf: [
        { rule: 'notSeen', ifUnknown: 'skip' },
        { rule: 'away', minutes: 30, ifUnknown: 'skip' },
      ],
      again: ONCE_PER_RESULT,
      mail: {
        subject:
          'Reminder: {% if events.size > 1 %}{{ events.size }} results{% else %}{{ event.headline | default: "your results" }}{% endif %}',
        preheader: 'Take a look when you have a minute.',
        body: [
          'Hi {{ contact.firstName | default: "there" }},',
          open('have been ready since yesterday'),
          'Take a look when you have a minute.',
          RESULTS,
        ].join('\n\n'),
      },
    },
  },
]

const GIVEN = { name: 'first_messages', value: 'given' }

/**
 * Gives the drafts to apps older than messages, once, so that deleted drafts don't return. Failing to save doesn't stop
 * the start; the next start tries again.
 */
export async function giveFirstMessages(store: Store, at: number): Promise<void> {
  if ((await store.installValue(GIVEN.name)) !== null) return
  for (const { id: accountId } of await store.listAccounts()) {
    for (const { id: appId } of await store.listApps(accountId)) {
      if ((await store.listMessages(appId)).length > 0) continue
      const drafts = FIRST_MESSAGES.map((draft) => ({ ...draft, id: null, status: null }))
      const outcome = await store.saveMessages({ accountId, appId, actor: 'upgrade', at, drafts })
      if ('refusal' in outcome) return
    }
  }
  await store.keepInstallValue(GIVEN)
}
