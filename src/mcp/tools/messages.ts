import {
  changeByKey,
  cleanDraft,
  cleanStatus,
  draftFields,
  draftRules,
  saveDraft,
  savedView,
  statusFields,
  turnDraft,
} from '../../messages/drafts.ts'
import type { AppRow } from '../../accounts/access.ts'
import { publicId } from '../../core/ids.ts'
import { isRefusal, type Refusal, withWarnings } from '../../core/refusals.ts'
import { createArguments, findAsked, findMessage } from '../arguments.ts'
import type { Caller } from '../caller.ts'
import { cleanText } from '../untrusted.ts'
import { APP, NAMES, takes, type Tool, type ToolDependencies } from './tool.ts'

const changing = (
  { store, mailer, templates, clock }: ToolDependencies,
  { access }: Caller,
  app: AppRow,
): Parameters<typeof saveDraft>[0] => ({
  context: { store, mailer, templates, app, senders: mailer.senders },
  by: changeByKey(app, access.key.id, clock.now()),
  names: NAMES,
})

const FIELDS = draftFields(NAMES)
const DRAFT = takes({ app: APP, ...FIELDS })

const readDraft = createArguments({ schema: DRAFT, clean: cleanDraft, rules: () => draftRules(FIELDS) })

export const saveMessageDraft: Tool = {
  name: 'save_message_draft',
  title: 'Save a message',
  description: 'Adds or replaces a message, even a live one. Format: get_docs.',
  kind: 'manage',
  hints: { destructive: true, reachesOut: true },
  input: DRAFT,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readDraft(args, null))
    if (isRefusal(asked)) return asked
    const saved = await saveDraft(changing(deps, caller, asked.app), asked.input)
    return isRefusal(saved) ? cleanRefusal(saved) : { ok: true, ...savedView(saved) }
  },
}

/** It may name a key. */
const cleanRefusal = ({ message, ...refusal }: Refusal): Refusal =>
  message === undefined ? refusal : { ...refusal, message: cleanText(message) }

const STATUS = takes({ app: APP, ...statusFields(NAMES) })

const readStatus = createArguments({ schema: STATUS, clean: cleanStatus })

export const setStatus: Tool = {
  name: 'set_message_status',
  title: 'Set a status',
  description: "Going live needs a preview's `token`. Emails due while the message isn't live are skipped.",
  kind: 'manage',
  hints: { destructive: true, reachesOut: true },
  input: STATUS,
  run: async (deps, caller, args) => {
    const asked = await findMessage(deps, caller, readStatus(args, null))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const { status, token } = input
    const turning = { message, status, token, previewKey: deps.previewKey }
    const outcome = await turnDraft(changing(deps, caller, app), turning)
    if (isRefusal(outcome)) return outcome
    return withWarnings({ ok: true, messageId: publicId('msg', message.id), status }, outcome.warnings)
  },
}
