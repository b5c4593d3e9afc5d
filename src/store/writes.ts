import type { Database } from 'bun:sqlite'
import { createAccountWrites } from './account-writes.ts'
import { createBatchWrites } from './batch-writes.ts'
import { createCallWrites } from './call-writes.ts'
import { createContactWrites } from './contact-writes.ts'
import { createDeliveryEnds } from './delivery-ends.ts'
import { createDeliveryWrites } from './delivery-writes.ts'
import { createErasure } from './erasure.ts'
import { createEventNames } from './event-names.ts'
import { type DeliveryRules, NO_RULES } from './delivery-rules.ts'
import type { EventText, ReadEvent, RecordedText, Unread } from './event-texts.ts'
import { createEventWrites } from './event-writes.ts'
import { createOnce } from './idempotency.ts'
import { createIdSequence } from '../core/ids.ts'
import { createKnownBatches } from './timeline/known-batches.ts'
import { createLiveMessages } from './live-messages.ts'
import { createMemberWrites } from './member-writes.ts'
import { createMembershipWrites } from './membership-writes.ts'
import { createMessageWrites } from './message-writes.ts'
import { createPeople } from './people.ts'
import type { Sealer } from './engine/sealing.ts'
import { createSenderDomainWrites } from './sender-domains.ts'
import { createSessionWrites } from './session-writes.ts'
import { createSnippetWrites } from './snippet-writes.ts'
import { createCancellations } from './cancellations.ts'
import { createSuppressionWrites } from './suppression-writes.ts'
import { createTallies } from './tallies.ts'
import { HELD_UNTIL } from './timeline/timeline-reads.ts'
import { createTimeline } from './timeline/timeline.ts'
import { createTriggers } from './triggers.ts'
import { createTwoStepWrites } from './two-step-writes.ts'
import type { ContactWrite, EventWrite, Refused } from './types.ts'
import { createUpkeep } from './upkeep.ts'
import { createUsedUp } from './used-up.ts'

/** Every write the store knows, by name; each is one step of a transaction that the engine holds. */
export type Writes = ReturnType<typeof createWrites>['writes']
export type WriteName = keyof Writes
/** A write on its way to the engine. */
export type Job<N extends WriteName = WriteName> = { name: N; input: Parameters<Writes[N]>[0] }
export type Outcome<N extends WriteName = WriteName> = ReturnType<Writes[N]> | Refused

/** Of what was erased, the timeline still knows how far it has come: no event may get an id below. */
const LAST_ID = `SELECT max(${HELD_UNTIL}, ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM contacts), 0),
  ifnull((SELECT max(id) FROM snippet_batches), 0), ifnull((SELECT max(id) FROM deliveries), 0),
  ifnull((SELECT max(id) FROM messages), 0)) AS id`

/** `readEvent`: how events that came as texts are read, or none of them is. `rules`: the rules for sending. */
export type WritesParts = {
  db: Database
  now: () => number
  sealer: Sealer
  isAlone: boolean
  readEvent?: ReadEvent
  rules?: DeliveryRules
}

export function createWrites({ db, now, sealer, isAlone, readEvent = () => null, rules = NO_RULES }: WritesParts) {
  const last = db.query<{ id: number }, []>(LAST_ID)
  const ids = createIdSequence(now, last.get()?.id ?? 0)
  const [live, usedUp] = [createLiveMessages(db), createUsedUp()]
  const ends = createDeliveryEnds({ db, usedUp })
  const [triggers, cancellations] = [
    createTriggers({ db, ids, live, usedUp, rules }),
    createCancellations({ db, live, ends, rules }),
  ]
  const [people, names, tallies, once] = [
    createPeople({ db, ids, triggers }),
    createEventNames(db),
    createTallies(db),
    createOnce(db),
  ]
  const timeline = createTimeline(db, () => performance.now(), isAlone)
  const known = createKnownBatches(db)
  const events = createEventWrites({ db, ids, people, names, tallies, timeline, triggers, cancellations })
  const contacts = createContactWrites({ db, people, tallies, triggers, cancellations })
  const messages = createMessageWrites({ db, ids, live, sealer })
  const senderDomains = createSenderDomainWrites(db)
  const recordEvent = (write: EventWrite) => once(write, () => events.recordEvent(write))
  const writes = {
    ...createAccountWrites({ db, messages, senderDomains, sealer }),
    ...createMemberWrites(db),
    ...createMembershipWrites(db),
    ...createSessionWrites(db),
    ...createTwoStepWrites({ db, sealer }),
    ...createErasure({ db, people, timeline }),
    ...createBatchWrites({ db, ids, people, known, timeline, cancellations, addEvent: events.addEvent }),
    addNotes: createSnippetWrites(db).addNotes,
    ...createCallWrites(db),
    ...createUpkeep(db, timeline),
    ...messages,
    ...senderDomains.writes,
    ...createDeliveryWrites({ db, live, ends, sealer, rules }),
    ...createSuppressionWrites({ db, live, ends }),
    recordEvent,
    recordEventText(event: EventText): RecordedText | Refused | Unread {
      const read = readEvent(event)
      if (!read) return { isUnread: true }
      const outcome = recordEvent(read.write)
      return 'refusal' in outcome || read.warnings.length === 0 ? outcome : { ...outcome, warnings: read.warnings }
    },
    addContact: (write: ContactWrite) => once(write, () => contacts.addContact(write)),
    updateContact: (write: ContactWrite) => once(write, () => contacts.updateContact(write)),
  }
  const forget = (): void => {
    people.forget()
    names.forget()
    live.forget()
    usedUp.forget()
  }
  /** After another process wrote: its ids count as if they were ours. */
  const catchUp = (): void => {
    forget()
    timeline.catchUp()
    known.catchUp()
    ids.passOver(last.get()?.id ?? 0)
  }
  return { writes, tallies, timeline, known, forget, catchUp }
}
