import { Type } from '@sinclair/typebox'
import { emailRule } from '../../core/field-schemas.ts'
import { makeMailbox } from '../../core/mail-addresses.ts'
import { listRecipients } from '../../accounts/members.ts'
import type { RenderedMail, TestResult } from '../../messages/mailer.ts'
import { checkLive, proposeFallback, warnOfUntried } from '../../messages/message-checks.ts'
import { type FoundSample, findSample } from '../../deliveries/person-samples.ts'
import { makeLiveToken } from '../../messages/messages.ts'
import { publicId } from '../../core/ids.ts'
import { describeFailure } from '../../deliveries/describe-reason.ts'
import { isRefusal, refuseFields } from '../../core/refusals.ts'
import { describeTemplateFault, type TemplateFault } from '../../messages/template-faults.ts'
import type { Fault } from '../../core/inputs.ts'
import { createArguments, emailOf, findMessage, messageIdOf } from '../arguments.ts'
import { fitText, PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, cleanValue, cleanWritten, UNTRUSTED } from '../untrusted.ts'
import { takeCostly, APP, EMAIL, outputSchema, MESSAGE_ID, takes, type Tool } from './tool.ts'

const PREVIEW = takes({
  app: APP,
  messageId: MESSAGE_ID,
  email: Type.Optional(EMAIL),
  several: Type.Optional(Type.Boolean({ say: 'Send true or false.' })),
})

const MADE_UP: Fault = { code: 'conflict', message: '`several` uses sample events. Send either this or `email`.' }

const readPreview = createArguments({
  schema: PREVIEW,
  clean: ({ messageId, email, several = false }) => ({
    messageId: messageIdOf(messageId),
    email: emailOf(email),
    isSeveral: several,
  }),
  rules: () => ({ several: (value, { email }) => (value === true && email !== undefined ? MADE_UP : null) }),
})

function describeFault(fault: TemplateFault, { sample: { contact, app }, isMadeUp }: FoundSample): string {
  const begin = `Nothing can be shown for ${isMadeUp ? 'this person' : cleanText(contact.email)}: `
  return 'missing' in fault
    ? `${begin}${cleanText(fault.missing)} has no value and no fallback, so this person gets no email. Write ${cleanText(proposeFallback(fault.missing, app))}.`
    : `${begin}${cleanText(describeTemplateFault(fault))}`
}

export const previewTool: Tool = {
  name: 'preview_message',
  title: 'Preview an email',
  description:
    'For `email`, else who triggered it last, else sample data. `token`: for set_message_status; null with `problems`.',
  kind: 'read',
  input: PREVIEW,
  output: outputSchema('mail', 'problems', 'warnings', 'token'),
  run: async (deps, { access }, args) => {
    const asked = await findMessage(deps, access, readPreview(args, null))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const { email, isSeveral } = input
    const sample = await findSample(deps, { app, message, email, isSeveral })
    if (isRefusal(sample)) return sample
    const mail = await deps.mailer.preview(sample.sample)
    const context = {
      store: deps.store,
      app,
      senders: deps.mailer.senders,
      templates: deps.templates,
    }
    const found = await checkLive(context, message.content)
    // nothing may go live by an empty preview
    const isReady = found.problems.length === 0 && 'html' in mail
    const token = isReady ? makeLiveToken(deps.previewKey, app, message) : null
    const named = found.problems.map(({ field, code, message }) => ({ field, code, message }))
    const problems = takeWithin(cleanValue(named), PROBLEMS_BYTES)
    const unsent = sample.unsent === null ? [] : [{ field: 'email', code: 'no_email', message: sample.unsent }]
    const warnings = takeWithin(cleanValue([...unsent, ...found.warnings, ...warnOfUntried(found)]), WARNINGS_BYTES)
    return { untrusted: UNTRUSTED, ok: true, mail: previewView(sample, mail), problems, warnings, token }
  },
}

const PROBLEMS_BYTES = 4 * 1024
const WARNINGS_BYTES = 3 * 1024
const LINKS_BYTES = 3 * 1024
const TEXT_BYTES = PAGE_BYTES - PROBLEMS_BYTES - WARNINGS_BYTES - LINKS_BYTES - 5 * 1024

function previewView(found: FoundSample, mail: RenderedMail | TemplateFault) {
  const { contact, event } = found.sample
  const { isMadeUp } = found
  const shown = {
    to: cleanText(contact.email),
    eventId: event && !isMadeUp ? publicId('evt', event.id) : null,
    isMadeUp,
  }
  return 'html' in mail
    ? { ...shown, ...mailView(mail), fault: null }
    : { ...shown, subject: null, text: null, fault: describeFault(mail, found), refusedLinks: [] }
}

/** Without the HTML, which says the same and costs more. */
function mailView(mail: RenderedMail) {
  const whole = cleanWritten(mail.text)
  const text = fitText(whole, TEXT_BYTES)
  const refusedLinks = takeWithin(cleanValue(mail.refusedLinks), LINKS_BYTES)
  return { subject: cleanText(mail.subject), text, ...(text === whole ? {} : { isCut: true }), refusedLinks }
}

const NO_MEMBER = 'Send the email of a member who has joined this account. Only members get test emails.'

const TEST = takes({
  app: APP,
  messageId: MESSAGE_ID,
  email: Type.Optional(EMAIL),
  to: { ...EMAIL, brief: "a member's email", say: { invalid: NO_MEMBER, missing: NO_MEMBER } },
})

const readTest = createArguments({
  schema: TEST,
  clean: ({ messageId, email, to }) => {
    const recipient = emailOf(to)
    return recipient === null ? null : { messageId: messageIdOf(messageId), email: emailOf(email), to: recipient }
  },
  rules: () => ({ to: (value) => emailRule(value) && { code: 'invalid', message: NO_MEMBER } }),
})

export const sendTestMessage: Tool = {
  name: 'send_test_message',
  title: 'Send a test email',
  description: 'Sends the email of preview_message to a member. `kept`: captured.',
  kind: 'manage',
  hints: { repeats: true, reachesOut: true },
  input: TEST,
  output: outputSchema('outcome', 'reason'),
  run: async (deps, { access }, args) => {
    const asked = await findMessage(deps, access, readTest(args, null))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const recipients = await listRecipients(deps.store, app.accountId)
    const to = recipients.includes(input.to) ? makeMailbox('', input.to) : null
    if (!to) return refuseFields([{ field: 'to', code: 'invalid', message: NO_MEMBER }])
    const found = await findSample(deps, { app, message, email: input.email })
    if (isRefusal(found)) return found
    const refused = takeCostly(deps, access, 'send_test_message')
    return refused ?? testView(await deps.mailer.sendTest(found.sample, to), to.address, found)
  },
}

function testView(result: TestResult, to: string, found: FoundSample) {
  if (!('is' in result)) return { ok: true, outcome: 'failed', reason: describeFault(result, found) }
  if (!('reason' in result)) return { ok: true, outcome: result.is, reason: null }
  const { is, detail = describeFailure(result, to) } = result
  return { ok: true, outcome: is, reason: cleanText(detail) }
}
