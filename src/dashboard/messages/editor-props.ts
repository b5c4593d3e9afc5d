import type { ComponentChildren } from 'preact'
import type { TestResult } from '../../messages/mailer.ts'
import type { Preview } from '../../deliveries/message-preview.ts'
import type { ShownMail } from '../ui/mail-preview.tsx'
import type { LiveCheck } from '../../messages/message-checks.ts'
import type { Simulation } from '../../deliveries/simulation/index.ts'
import type { MessageContent, MessageCounts, MessageRow } from '../../messages/messages.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { Fields } from './message-field-names.ts'
import type { ChoosableSenders } from './message-mail.tsx'
import type { ReadyChoice } from './ready-emails.tsx'
import type { Viewer } from '../layout/viewer.ts'
import type { TestedEmail } from './tested-emails.ts'
import type { ShownVersion } from './version-writers.ts'

/** `mail` is null if no preview can be made. */
export type ShownPreview = { preview: Preview; mail: ShownMail | null }

/** Result of a test email. `whose`: the sample person; null for made-up data. */
export type TestOutcome = { to: string; whose: string | null; result: TestResult } | { fault: FieldError }

/** How emails leave: captured without a mail server. `lostUrl`: the base URL, if recipients can't reach it. */
export type Sending = { isCapturing: boolean; lostUrl: string | null }

export type EditorProps = {
  viewer: Viewer
  /** null: not saved yet */
  message: MessageRow | null
  counts: MessageCounts | null
  isDeletable: boolean
  /** other messages of the app */
  others: Pick<MessageRow, 'name' | 'status'>[]
  /** names of those that this one triggers */
  followers: string[]
  /** the newest version; null if not saved yet */
  saved: ShownVersion | null
  fields: Fields
  /** templates for a new message; null once it is being edited */
  ready: ReadyChoice | null
  /** `fields` differ from what is saved */
  isUnsaved: boolean
  /** errors of the submitted form */
  errors: FieldError[]
  /** findings about the current fields; null if incomplete */
  check: LiveCheck | null
  notice?: ComponentChildren
  /** the input is based on an older version: saving overwrites the newer one */
  isConflict: boolean
  shown: ShownPreview
  eventNames: string[]
  /** fields and tags that people have */
  fieldNames: string[]
  tagNames: string[]
  members: string[]
  senders: ChoosableSenders
  /** names of the app's topics */
  topics: string[]
  timezone: string
  /** the app's limit for non-transactional emails; null: no limit */
  perPersonDay: number | null
  sending: Sending
  /** `content` is what was simulated; `isUnsaved`: it differs from what is saved. `undated`: why people have no date */
  simulation: {
    days: number
    content: MessageContent
    isUnsaved: boolean
    undated: string | null
    found: Simulation | null
  } | null
  test: TestOutcome | null
  /** the last test of this text */
  tested: TestedEmail | null
  /** why the trigger may be misspelled, or triggers nothing yet */
  triggerNote: string | null
  /** to the people with a value in the field of the trigger's date */
  datedPath: string
  path: string
  now: number
}

/** Id of the form, also used by buttons in the page header. */
export const EDITOR = 'editor'

/** One sentence; islands/message.ts keeps it up to date. */
export const SAYS = 'go-live-says'
