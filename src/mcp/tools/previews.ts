import {
  type DraftPreview,
  PREVIEW_FIELDS,
  PREVIEW_RULES,
  previewDraft,
  previewView,
} from '../../deliveries/draft-previews.ts'
import { cleanTest, TEST_RULES, testFields, testMessage } from '../../deliveries/message-tests.ts'
import { idOf } from '../../core/ids.ts'
import { isRefusal } from '../../core/refusals.ts'
import { createArguments, emailOf, findMessage } from '../arguments.ts'
import { fitText, PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, cleanValue, cleanWritten, UNTRUSTED } from '../untrusted.ts'
import { APP, MESSAGE_ID, NAMES, takes, type Tool } from './tool.ts'

const PREVIEW = takes({ app: APP, messageId: MESSAGE_ID, ...PREVIEW_FIELDS })

const readPreview = createArguments({
  schema: PREVIEW,
  clean: ({ messageId, email, language = null, several = false }) => ({
    messageId: idOf('msg', messageId),
    email: emailOf(email),
    language,
    isSeveral: several,
  }),
  rules: () => PREVIEW_RULES,
})

export const previewTool: Tool = {
  name: 'preview_message',
  title: 'Preview an email',
  description:
    'For `email`, or the last to trigger it, or sample data. `token`: for set_message_status; null with `problems`.',
  kind: 'read',
  input: PREVIEW,
  run: async (deps, caller, args) => {
    const asked = await findMessage(deps, caller, readPreview(args, null))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const preview = await previewDraft(deps, { ...input, app, message })
    if (isRefusal(preview)) return preview
    const problems = takeWithin(cleanValue(preview.problems), PROBLEMS_BYTES)
    const warnings = takeWithin(cleanValue(preview.warnings), WARNINGS_BYTES)
    const { token } = preview
    return { untrusted: UNTRUSTED, ok: true, mail: cleanPreview(preview), problems, warnings, token }
  },
}

const PROBLEMS_BYTES = 4 * 1024
const WARNINGS_BYTES = 3 * 1024
const LINKS_BYTES = 3 * 1024
const TEXT_BYTES = PAGE_BYTES - PROBLEMS_BYTES - WARNINGS_BYTES - LINKS_BYTES - 5 * 1024

/** Without the HTML, which says the same and costs more. */
function cleanPreview(preview: DraftPreview) {
  const { html: _, to, subject, text: whole, fault, refusedLinks, ...view } = previewView(preview)
  const text = whole === null ? null : fitText(cleanWritten(whole), TEXT_BYTES)
  return {
    to: cleanText(to),
    ...view,
    subject: subject === null ? null : cleanText(subject),
    text,
    ...(text === null || whole === null || text === cleanWritten(whole) ? {} : { isCut: true }),
    fault: fault === null ? null : cleanText(fault),
    refusedLinks: takeWithin(cleanValue(refusedLinks), LINKS_BYTES),
  }
}

const TEST = takes({ app: APP, ...testFields(NAMES) })

const readTest = createArguments({ schema: TEST, clean: cleanTest, rules: () => TEST_RULES })

export const sendTestMessage: Tool = {
  name: 'send_test_message',
  title: 'Send a test email',
  description: 'Emails a member the preview from preview_message. `kept`: not sent.',
  kind: 'manage',
  hints: { repeats: true, reachesOut: true },
  input: TEST,
  run: async (deps, caller, args) => {
    const asked = await findMessage(deps, caller, readTest(args, null))
    if (isRefusal(asked)) return asked
    const tested = await testMessage(deps, { access: caller.access, ...asked })
    if (isRefusal(tested)) return tested
    const { outcome, reason } = tested
    return { ok: true, outcome, reason: reason === null ? null : cleanText(reason) }
  },
}
