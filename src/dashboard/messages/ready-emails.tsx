/** @jsxImportSource preact */
import { EMAILS_FILE } from '../../docs/samples.ts'
import { readMessage } from '../../messages/message-input.ts'
import type { MessageRow } from '../../messages/messages.ts'
import type { Fields } from './message-field-names.ts'
import { nameCopy, writeFields } from './message-form.ts'

/** An email of the documentation that a new message can start from. */
type ReadyEmail = Pick<MessageRow, 'name' | 'content'>

const READY_EMAILS: readonly ReadyEmail[] = (JSON.parse(EMAILS_FILE) as unknown[]).flatMap((value) => {
  const reading = readMessage(value)
  return 'input' in reading ? [reading.input] : []
})

/** One that another message triggers needs that message. */
const listUsable = (taken: readonly string[]): readonly ReadyEmail[] =>
  READY_EMAILS.filter(({ content: { trigger } }) => !('message' in trigger) || taken.includes(trigger.message))

/** `chosen`: what the form begins with; null for the empty form. */
export type ReadyChoice = { names: string[]; chosen: string | null }

/** `taken`: names of the app's messages. */
export function chooseReady(name: string | null, taken: readonly string[]): ReadyChoice & { fields?: Fields } {
  const usable = listUsable(taken)
  const names = usable.map((one) => one.name)
  const found = usable.find((one) => one.name === name)
  if (!found) return { names, chosen: null }
  const free = taken.includes(found.name) ? nameCopy(found.name, taken) : found.name
  return { names, chosen: found.name, fields: writeFields({ ...found, name: free }) }
}

export const ReadyEmails = ({ path, names, chosen }: ReadyChoice & { path: string }) => (
  <nav class="ready-emails" aria-labelledby="ready-emails">
    <p class="hint">
      <span id="ready-emails">Start from an example.</span> <a href="/docs/emails">What each one needs</a>
    </p>
    <ul class="chips">
      {[null, ...names].map((name) => (
        <li key={name}>
          <a
            class="chip"
            href={name === null ? path : `${path}?from=${encodeURIComponent(name)}`}
            aria-current={name === chosen ? 'true' : undefined}
          >
            {name ?? 'Empty'}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)
