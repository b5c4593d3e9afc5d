import type { MessageContent } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { RESULTS_READY } from './event-input.ts'

/**
 * What every new app begins with, ready to be turned on (spec 1.5): a mail to someone who left before the results were
 * ready, with the event's headline, and one that links to results which were not opened yet.
 */
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
      again: { once: 'person' },
      mail: {
        subject: '{{ event.headline | default: "Your results are ready" }}',
        preheader: 'They were finished while you were away.',
        body: [
          'Hello {{ contact.firstName | default: "there" }},',
          'you left before your results were ready. Now they are:',
          '**{{ event.headline | default: "Your results are ready." }}**',
          '[See your results]({{ event.url }})',
        ].join('\n\n'),
      },
    },
  },
  {
    name: 'Results not opened yet',
    content: {
      trigger: { event: RESULTS_READY },
      wait: { minutes: 24 * 60 },
      // whoever the script never saw may have opened them long ago
      onlyIf: [
        { rule: 'notSeen', ifUnknown: 'skip' },
        { rule: 'away', minutes: 30, ifUnknown: 'skip' },
      ],
      again: { once: 'person' },
      mail: {
        subject: 'Still there for you: {{ event.headline | default: "your results" }}',
        preheader: 'You have not opened them yet.',
        body: [
          'Hello {{ contact.firstName | default: "there" }},',
          'your results have been ready since yesterday, and you have not opened them yet:',
          '**{{ event.headline | default: "Your results are ready." }}**',
          '[Open your results]({{ event.url }})',
        ].join('\n\n'),
      },
    },
  },
]

/** An installation in which every app began with the drafts, or was given them since. */
const GIVEN = { name: 'first_messages', value: 'given' }

/**
 * Gives the drafts to apps that were made before there were messages: once, at the first start that knows them, so that
 * an app whose owner deletes its messages later stays without. Apps that have a message are left alone. What cannot be
 * saved keeps no service from starting: the next start tries again.
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
