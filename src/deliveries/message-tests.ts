/** Test emails over MCP and the API, to members of the account only. */
import type { Static, TObject } from '@sinclair/typebox'
import type { Access, AppRow } from '../accounts/access.ts'
import { takeCostly } from '../accounts/costly-calls.ts'
import type { Limits } from '../accounts/limits.ts'
import { listRecipients } from '../accounts/members.ts'
import type { Clock } from '../core/clock.ts'
import { readEmail } from '../core/email.ts'
import { EMAIL, emailRule } from '../core/field-schemas.ts'
import { idOf } from '../core/ids.ts'
import type { Rules } from '../core/inputs.ts'
import { makeMailbox } from '../core/mail-addresses.ts'
import { isRefusal, type Refusal, refuseFields } from '../core/refusals.ts'
import { type CallNames, messageIdField } from '../messages/drafts.ts'
import type { Mailer, TestResult } from '../messages/mailer.ts'
import type { MessageRow } from '../messages/messages.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { Store } from '../store/store.ts'
import { describeFailure } from './describe-reason.ts'
import { describeFault, PREVIEW_FIELDS } from './draft-previews.ts'
import { type FoundSample, findSample } from './person-samples.ts'

const NO_MEMBER = 'Send the email address of a member who has joined this account. Only members get test emails.'

export const testFields = (names: Pick<CallNames, 'list'>) => ({
  messageId: messageIdField(names),
  email: PREVIEW_FIELDS.email,
  to: {
    ...EMAIL,
    description: 'The email address of the member who gets the test.',
    brief: "a member's email",
    say: { invalid: NO_MEMBER, missing: NO_MEMBER },
  },
})

export const TEST_RULES: Rules = { to: (to) => emailRule(to) && { code: 'invalid', message: NO_MEMBER } }

type TestFields = Static<TObject<ReturnType<typeof testFields>>>

export function cleanTest({ messageId, email, to }: TestFields) {
  const recipient = readEmail(to)
  if (recipient === null) return null
  const person = email === undefined ? null : (readEmail(email)?.email ?? null)
  return { messageId: idOf('msg', messageId), email: person, to: recipient.email }
}

type Dependencies = { store: Store; clock: Clock; limits: Limits; mailer: Mailer; templates: TemplateWorker }

type Asked = { access: Access; app: AppRow; message: MessageRow; input: { email: string | null; to: string } }

/** `reason`: why it failed, in one or two sentences. */
type Tested = { outcome: 'sent' | 'kept' | 'failed' | 'unknown'; reason: string | null }

/** Refusals: invalid_field, contact_not_found, rate_limited. */
export async function testMessage(
  deps: Dependencies,
  { access, app, message, input }: Asked,
): Promise<Tested | Refusal> {
  const recipients = await listRecipients(deps.store, app.accountId)
  const to = recipients.includes(input.to) ? makeMailbox('', input.to) : null
  if (!to) return refuseFields([{ field: 'to', code: 'invalid', message: NO_MEMBER }])
  const found = await findSample(deps, { app, message, email: input.email })
  if (isRefusal(found)) return found
  const refused = await takeCostly(deps, access, 'send_test_message')
  return refused ?? testView(await deps.mailer.sendTest(found.sample, to), to.address, found)
}

function testView(result: TestResult, to: string, found: FoundSample): Tested {
  if (!('is' in result)) return { outcome: 'failed', reason: describeFault(result, found) }
  if (!('reason' in result)) return { outcome: result.is, reason: null }
  const { is, detail = describeFailure(result, to) } = result
  return { outcome: is, reason: detail }
}
