import type { Database } from 'bun:sqlite'
import { createIdSequence } from '../core/ids.ts'
import { createAccountWrites } from './accounts.ts'
import { createActivationWrites } from './activation.ts'
import { createAppWrites } from './apps.ts'
import { createBatchWrites } from './batch-writes.ts'
import { createCancellations } from './cancellations.ts'
import { createContactWrites } from './contact-writes.ts'
import { createCounters } from './counters.ts'
import { createDeliveryEnds } from './delivery-ends.ts'
import { createDeliveryRetries } from './delivery-queue.ts'
import { type DeliveryRules, NO_RULES } from './delivery-rules.ts'
import { createDeliveryWrites } from './delivery-writes.ts'
import type { Sealer } from './engine/sealing.ts'
import { createErasure } from './erasure.ts'
import { createEventNames } from './events.ts'
import { type EventText, NO_READER, type ReadEvent, type TextOutcome } from './event-texts.ts'
import { createEventWrites } from './event-writes.ts'
import { createOnce } from './idempotency.ts'
import { createInstallWrites } from './install.ts'
import { createKeyWrites } from './keys.ts'
import { createLinkWrites } from './links.ts'
import { createLiveMessages } from './live-messages.ts'
import { createMailSettingsWrites } from './mail-settings.ts'
import { createCallWrites } from './mcp-calls.ts'
import { createMemberWrites } from './members.ts'
import { createMessageWrites } from './messages.ts'
import { createPasswordWrites } from './passwords.ts'
import { createPeople } from './people.ts'
import { createSenderDomainWrites } from './sender-domains.ts'
import { createSessionWrites } from './sessions.ts'
import { createSuppressionWrites } from './suppressions.ts'
import { createKnownBatches } from './timeline/known-batches.ts'
import { HELD_UNTIL } from './timeline/timeline-reads.ts'
import { createTimeline } from './timeline/timeline.ts'
import { createTriggers } from './triggers.ts'
import { createTwoStepWrites } from './two-step.ts'
import type { ContactWrite, EventWrite, RecordedEvent, Refused } from './types.ts'
import { createUpkeep } from './upkeep.ts'
import { createUsedUp } from './used-up.ts'

/** Every write the store knows; each is one step of a transaction that the engine holds. */
export type Writes = ReturnType<typeof createWrites>['writes']
export type WriteName = keyof Writes
/** A write on its way to the engine. */
export type Job<N extends WriteName = WriteName> = { name: N; input: Parameters<Writes[N]>[0] }
export type Outcome<N extends WriteName = WriteName> = ReturnType<Writes[N]> | Refused

/**
 * Their names. A record and not a list, so that the compiler misses a name that is left out: what is spread below may hold
 * none beside these.
 */
export const WRITE_NAMES: Record<WriteName, true> = {
  recordEvent: true,
  recordEventText: true,
  recordBatch: true,
  addContact: true,
  updateContact: true,
  eraseContact: true,
  createAccount: true,
  renameAccount: true,
  requireTwoStep: true,
  createApp: true,
  updateApp: true,
  setSnippet: true,
  createKey: true,
  revokeKey: true,
  noteKeyUse: true,
  rotateSecret: true,
  setPlan: true,
  makeSetupLink: true,
  revokeOldSecrets: true,
  setPasswordByLink: true,
  addNotes: true,
  addCalls: true,
  inviteMember: true,
  inviteAgain: true,
  acceptInvitation: true,
  noteRefusedPassword: true,
  makePasswordLink: true,
  setRole: true,
  removeMember: true,
  startSession: true,
  touchSession: true,
  confirmSession: true,
  noteFailedSignIns: true,
  claimNotice: true,
  endSession: true,
  endMemberSessions: true,
  endOtherSessions: true,
  changePassword: true,
  startTwoStep: true,
  turnOnTwoStep: true,
  takeCode: true,
  takeRecoveryCode: true,
  renewRecoveryCodes: true,
  turnOffTwoStep: true,
  saveMessages: true,
  setMessageStatus: true,
  deleteMessage: true,
  setMailSettings: true,
  bindSenderDomain: true,
  unbindSenderDomain: true,
  claimDeliveries: true,
  extendClaim: true,
  dropJoined: true,
  markHanded: true,
  markCaptured: true,
  markSent: true,
  markSkipped: true,
  markDeferred: true,
  markFailed: true,
  markUnknown: true,
  releaseClaims: true,
  resendDelivery: true,
  suppress: true,
  unsuppress: true,
  unsubscribe: true,
  markBounced: true,
  keepInstallValue: true,
  setInstallValue: true,
  cleanUp: true,
  touch: true,
}

/** Of what was erased, the timeline still knows how far it has come: no event may get an id below. */
const LAST_ID = `SELECT max(${HELD_UNTIL}, ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM contacts), 0),
  ifnull((SELECT max(id) FROM snippet_batches), 0), ifnull((SELECT max(id) FROM deliveries), 0),
  ifnull((SELECT max(id) FROM messages), 0)) AS id`

/** `readEvent`: how events that came as texts are read. `rules`: the rules for sending. */
export type WritesParts = {
  db: Database
  now: () => number
  sealer: Sealer
  isAlone: boolean
  readEvent?: ReadEvent
  rules?: DeliveryRules
}

export function createWrites({ db, now, sealer, isAlone, readEvent = NO_READER, rules = NO_RULES }: WritesParts) {
  const last = db.query<{ id: number }, []>(LAST_ID)
  const ids = createIdSequence(now, last.get()?.id ?? 0)
  const [live, usedUp] = [createLiveMessages(db), createUsedUp()]
  const ends = createDeliveryEnds({ db, usedUp })
  const [triggers, cancellations] = [
    createTriggers({ db, ids, live, usedUp, rules }),
    createCancellations({ db, live, ends, rules }),
  ]
  const [people, names, counters, once] = [
    createPeople({ db, ids, triggers }),
    createEventNames(db),
    createCounters(db),
    createOnce(db),
  ]
  const timeline = createTimeline(db, () => performance.now(), isAlone)
  const known = createKnownBatches(db)
  const events = createEventWrites({ db, ids, people, names, counters, timeline, triggers, cancellations })
  const contacts = createContactWrites({ db, people, counters, triggers, cancellations })
  const retries = createDeliveryRetries(db)
  const messages = createMessageWrites({ db, ids, live })
  const mailSettings = createMailSettingsWrites({ db, live, sealer, retries })
  const senderDomains = createSenderDomainWrites({ db, retries })
  const apps = createAppWrites({ db, messages, mailSettings })
  const recordEvent = (write: EventWrite) => once(write, () => events.recordEvent(write))
  const writes = {
    ...createAccountWrites({ db, addApp: apps.addApp, senderDomains, sealer }),
    ...apps.writes,
    ...createKeyWrites({ db, sealer }),
    ...createLinkWrites(db),
    ...createMemberWrites(db),
    ...createPasswordWrites(db),
    ...createSessionWrites(db),
    ...createTwoStepWrites({ db, sealer }),
    ...createInstallWrites(db),
    ...createActivationWrites(db),
    ...createErasure({ db, people, timeline }),
    ...createBatchWrites({ db, ids, people, known, timeline, cancellations, addEvent: events.addEvent }),
    ...createCallWrites(db),
    ...createUpkeep(db, timeline),
    ...messages,
    ...mailSettings,
    ...senderDomains.writes,
    ...createDeliveryWrites({ db, live, ends, sealer, rules }),
    ...createSuppressionWrites({ db, live, ends }),
    recordEvent,
    recordEventText(event: EventText): TextOutcome {
      const reading = readEvent(event)
      if ('refused' in reading) return reading
      const { write, warnings } = reading
      const outcome =
        event.refusal === undefined
          ? recordEvent(write)
          : once<RecordedEvent>(write, () => ({ refusal: 'rate_limited' }))
      if (!('refusal' in outcome)) return warnings.length === 0 ? outcome : { ...outcome, warnings }
      const { refusal } = outcome
      return refusal === 'rate_limited'
        ? { refused: { refusal }, appId: write.appId }
        : { ...outcome, appId: write.appId }
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
  return { writes, counters, timeline, known, forget, catchUp }
}
