/**
 * Events that the writing thread reads, out of the texts of requests: it takes a fifth to a third from the thread that
 * answers, and a tenth from both together, because an event then crosses as it came (measured). What is refused, or has
 * a warning, is read again where it came in, and answered there.
 */
import type { EventText } from '../store/event-texts.ts'
import type { EventWrite } from '../store/types.ts'
import { findApp } from './apps.ts'
import { eventWrite, readEventInput } from './event-input.ts'
import { decodeText, parseJsonText } from './json.ts'
import { isLinkable } from './links.ts'

/** What is larger waits nowhere but where it came in: thousands may wait to be written. In bytes, as it was sent. */
export const MAX_TEXT_BYTES = 4_096

/** The text of a body that may be read elsewhere, or null. */
export const textOf = (bytes: Uint8Array): string | null => (bytes.length > MAX_TEXT_BYTES ? null : decodeText(bytes))

/** Reads one, or answers null where its sender is to be told something (store/event-texts.ts). */
export function readEventText({ text, sender, at }: EventText): EventWrite | null {
  const body = parseJsonText(text)
  if ('refused' in body) return null
  const reading = readEventInput(body.object, at)
  if ('errors' in reading || reading.warnings.length > 0) return null
  const { input } = reading
  const app = findApp(sender, input.app)
  // of these hosts it is known that they are the app's own
  if (!app || (input.url !== null && !isLinkable(input.url, app.hosts))) return null
  const { newPeoplePerMonth, buckets } = sender
  return eventWrite({ app, via: 'api', newPeoplePerMonth, buckets, idempotency: null, at }, input)
}
