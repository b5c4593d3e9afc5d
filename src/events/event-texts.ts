/**
 * Parses request bodies in the writer thread. This saves the main thread a fifth to a quarter of its work, and both
 * together a tenth, because an event crosses threads as text (measured).
 */
import type { EventText, RefusedText, ReadEvent } from '../store/event-texts.ts'
import { findApp, findNamedApp } from '../accounts/apps.ts'
import { findKeyFault, hashRequest } from '../accounts/idempotency.ts'
import { eventWrite, readEventInput } from './event-input.ts'
import { lacksEmail } from '../core/inputs.ts'
import { findRepeatedKeys, joinWarnings, parseJsonText, warnOfRepeated } from '../core/json.ts'
import { type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import { warnOfUrl } from '../accounts/links.ts'
import type { OwnHosts } from '../accounts/app-hosts.ts'

/** Refuses with 400, 404 for the app, 409, in this order. */
export function readEventText({ text, sender, at, idempotency, refusal }: EventText): ReturnType<ReadEvent> {
  const body = parseJsonText(text)
  if ('refused' in body) return body
  const { object } = body
  const keyFault = idempotency && findKeyFault(idempotency.key)
  if (keyFault) return { refused: keyFault }
  const refused = (reason: Refusal): RefusedText => ({ refused: reason, appId: findNamedApp(sender, object)?.id })
  const reading = readEventInput(object, at)
  if ('errors' in reading) return { ...refused(refuseFields(reading.errors)), lacksEmail: lacksEmail(object) }
  const { input } = reading
  const app = findApp(sender, input.app)
  if (!app) return refused(refuse('app_not_found'))
  if (refusal === 'idempotency_in_progress') return refused(refuse(refusal))
  const { newPeoplePerMonth, buckets } = sender
  const hashed = idempotency ? hashRequest(idempotency, object) : null
  const write = eventWrite({ app, via: 'api', newPeoplePerMonth, buckets, idempotency: hashed, at }, input)
  const repeated = findRepeatedKeys(text, object)
  const warnings = repeated.length > 0 ? joinWarnings(warnOfRepeated(repeated), reading.warnings) : reading.warnings
  return { write, warnings: warnings.concat(warnOfUrl(input, app.hosts as OwnHosts)) }
}
