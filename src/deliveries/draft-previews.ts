/** A message as programs preview it, over MCP and the API: the email for one person, and what is left before going live. */
import { Type } from '@sinclair/typebox'
import type { AppRow } from '../accounts/access.ts'
import { EMAIL } from '../core/field-schemas.ts'
import type { Fault, Rules } from '../core/inputs.ts'
import type { Clock } from '../core/clock.ts'
import { publicId } from '../core/ids.ts'
import { findTag } from '../core/languages.ts'
import { type FieldError, isRefusal, type Refusal, refuseFields } from '../core/refusals.ts'
import { checkLive, proposeFallback } from '../messages/message-checks.ts'
import { warnOfUntried } from '../messages/tried.ts'
import { chooseVariant, OWN_TEXT } from '../messages/mail-texts.ts'
import { type Mailer, type RenderedMail } from '../messages/mailer.ts'
import { makeLiveToken } from '../messages/messages.ts'
import { describeTemplateFault, readMissing, type TemplateFault } from '../messages/template-faults.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { MessageRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { type FoundSample, findSample } from './person-samples.ts'

const NO_LANGUAGE = "Send one of the message's languages, such as `de`, or `own`."

export const PREVIEW_FIELDS = {
  email: Type.Optional({
    ...EMAIL,
    description: 'The person to preview it for. By default, the last to trigger it, or sample data.',
  }),
  language: Type.Optional(
    Type.String({
      description: "One of the message's languages, or `own`. By default, the person's.",
      say: NO_LANGUAGE,
    }),
  ),
  several: Type.Optional(
    Type.Boolean({ description: 'Whether to use sample data with several events.', say: 'Send true or false.' }),
  ),
}

const MADE_UP: Fault = { code: 'conflict', message: '`several` uses sample events. Send either this or `email`.' }

export const PREVIEW_RULES: Rules = {
  several: (isSeveral, { email }) => (isSeveral === true && email !== undefined ? MADE_UP : null),
}

type Dependencies = { store: Store; clock: Clock; mailer: Mailer; templates: TemplateWorker; previewKey: string }

type Asked = { app: AppRow; message: MessageRow; email: string | null; language: string | null; isSeveral: boolean }

/** `token`: for going live; null while there are problems or nothing can be shown. */
export type DraftPreview = {
  found: FoundSample
  mail: RenderedMail | TemplateFault
  problems: FieldError[]
  warnings: FieldError[]
  token: string | null
}

/** Refusals: contact_not_found, invalid_field. */
export async function previewDraft(deps: Dependencies, asked: Asked): Promise<DraftPreview | Refusal> {
  const { app, message, language } = asked
  const { mail: written } = message.content
  if (
    language !== null &&
    language !== OWN_TEXT &&
    findTag(Object.keys(written.variants ?? {}), language) === undefined
  )
    return refuseFields([{ field: 'language', code: 'invalid', message: NO_LANGUAGE }])
  const found = await findSample(deps, asked)
  if (isRefusal(found)) return found
  found.sample.variant = chooseVariant(written, language ?? undefined, found.sample.contact)
  const mail = await deps.mailer.preview(found.sample)
  const { store, templates, mailer } = deps
  const check = await checkLive({ store, app, templates, senders: mailer.senders }, message.content)
  // an empty preview must not allow going live
  const isReady = check.problems.length === 0 && 'html' in mail
  const unsent = found.unsent === null ? [] : [{ field: 'email', code: 'no_email', message: found.unsent }]
  return {
    found,
    mail,
    problems: check.problems.map(({ field, code, message }) => ({ field, code, message })),
    warnings: [...unsent, ...check.warnings, ...warnOfUntried(check)],
    token: isReady ? makeLiveToken(deps.previewKey, app, message) : null,
  }
}

/** As the API and MCP show it. `html` and `text` null: see `fault`. */
export function previewView({ found, mail }: Pick<DraftPreview, 'found' | 'mail'>) {
  const { contact, event, variant: language = null } = found.sample
  const { isMadeUp } = found
  const eventId = event && !isMadeUp ? publicId('evt', event.id) : null
  const shown = { to: contact.email, eventId, isMadeUp, language }
  return 'html' in mail
    ? { ...shown, ...mail, fault: null }
    : { ...shown, subject: null, html: null, text: null, refusedLinks: [], fault: describeFault(mail, found) }
}

/** Why there is no preview. */
export function describeFault(fault: TemplateFault, { sample: { contact, app }, isMadeUp }: FoundSample): string {
  const begin = `Nothing can be shown for ${isMadeUp ? 'this person' : contact.email}: `
  if (!('missing' in fault)) return `${begin}${describeTemplateFault(fault)}`
  const { variable, lacks } = readMissing(fault.missing)
  return `${begin}${variable} has ${lacks}, so this person gets no email. Write ${proposeFallback(variable, app)}.`
}
