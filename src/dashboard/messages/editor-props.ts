/** What every section of the editor gets. */
import type { TestResult } from '../../messages/mailer.ts'
import type { Preview } from '../../messages/message-preview.ts'
import type { ShownMail } from '../ui/mail-preview.tsx'
import type { LiveCheck } from '../../messages/message-checks.ts'
import type { Simulation } from '../../deliveries/simulation/index.ts'
import type { MessageContent, MessageCounts, MessageRow } from '../../messages/messages.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { Fields } from './message-field-names.ts'
import type { ChoosableSenders } from './message-mail.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** A preview as a page shows it: `mail` null where none can be made. */
export type ShownPreview = { preview: Preview; mail: ShownMail | null }

/** What came of a test mail to a member. `whose`: for whom it was filled in; null where made up. */
export type TestOutcome = { to: string; whose: string | null; result: TestResult }

export type EditorProps = {
  viewer: Viewer
  /** null: it was not saved yet */
  message: MessageRow | null
  counts: MessageCounts | null
  fields: Fields
  /** what is wrong with what was sent */
  errors: FieldError[]
  /** what was found about the fields as they are; null where they are no whole message, or were never saved */
  check: LiveCheck | null
  notice?: string
  shown: ShownPreview
  eventNames: string[]
  members: string[]
  senders: ChoosableSenders
  timezone: string
  /** of emails that are not transactional, by the app; null: no limit */
  perPersonDay: number | null
  /** no mail leaves this installation */
  isCapturing: boolean
  /** `content` is what was simulated */
  simulation: { days: number; content: MessageContent; found: Simulation | null } | null
  test: TestOutcome | null
  /** where the editor is, and its form goes */
  path: string
  now: number
}

/** The form's own id: buttons in the head of the page belong to it too. */
export const EDITOR = 'editor'

/** What a message does, in one sentence; islands/message.ts keeps it up with what is typed. */
export const SAYS = 'go-live-says'
