/**
 * Events that the writing thread reads, out of the texts of requests: it takes a fifth to a quarter from the thread that
 * answers, and a tenth from both together, because an event then crosses as it came (measured). What is refused is read
 * again where it came in, and answered there.
 */
import type { EventText, ReadEvent } from '../store/event-texts.ts'
import { findApp } from '../accounts/apps.ts'
import { eventWrite, readEventInput } from './event-input.ts'
import { decodeText, findRepeatedKeys, joinWarnings, parseJsonText, warnOfRepeated } from '../core/json.ts'
import { warnOfUrl } from '../accounts/links.ts'
import type { OwnHosts } from '../accounts/app-hosts.ts'

/** What is larger waits nowhere but where it came in: thousands may wait to be written. In bytes, as it was sent. */
export const MAX_TEXT_BYTES = 4_096

/** The text of a body that may be read elsewhere, or null. */
export const textOf = (bytes: Uint8Array): string | null => (bytes.length > MAX_TEXT_BYTES ? null : decodeText(bytes))

/** Reads one, or answers null where it is refused. */
export function readEventText({ text, sender, at }: EventText): ReturnType<ReadEvent> {
  const body = parseJsonText(text)
  if ('refused' in body) return null
  const reading = readEventInput(body.object, at)
  if ('errors' in reading) return null
  const { input } = reading
  const app = findApp(sender, input.app)
  if (!app) return null
  const { newPeoplePerMonth, buckets } = sender
  const write = eventWrite({ app, via: 'api', newPeoplePerMonth, buckets, idempotency: null, at }, input)
  // they crossed threads, and were found to be the app's own before that
  const repeated = findRepeatedKeys(text, body.object)
  const warnings = repeated.length > 0 ? joinWarnings(warnOfRepeated(repeated), reading.warnings) : reading.warnings
  return { write, warnings: warnings.concat(warnOfUrl(input, app.hosts as OwnHosts)) }
}
