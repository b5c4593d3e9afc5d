/** A message for one person and event, as a mail: for sending, for the preview and for the test alike. */
import { makeMailbox } from '../core/mail-addresses.ts'
import type { RenderedMail, Sample } from '../core/mailer.ts'
import type { TemplateFault } from '../core/templates.ts'
import { type ComposedMail, composeMail } from './compose.ts'
import { renderMail } from './render.ts'
import type { Route } from './routes.ts'

/** The message as templates take it; `url` is where the person unsubscribes. */
export function renderSample(
  { message, contact, event, app, settings }: Sample,
  url: string,
): RenderedMail | TemplateFault {
  const { mail } = message.content
  const words = { ...mail, preheader: mail.preheader ?? '', category: mail.category ?? ('lifecycle' as const) }
  return renderMail(words, { contact, event, app, unsubscribeUrl: url, style: settings })
}

type Composing = { mail: RenderedMail; route: Route; url: string; at: number; messageId: string; to?: string }

/** null where the app's key does not sign: nothing goes out unsigned that should be signed. */
export async function composeSample({ message, contact }: Sample, composing: Composing): Promise<ComposedMail | null> {
  const { mail, route, url, at, messageId } = composing
  const name = [contact.firstName, contact.lastName].filter((part) => part !== null).join(' ')
  const to = makeMailbox(name, composing.to ?? contact.email)
  if (to === null) throw new Error('a person without an address')
  const { from, replyTo, dkim } = route
  const isLifecycle = message.content.mail.category !== 'transactional'
  return composeMail({ mail, to, from, replyTo, dkim, at, messageId, unsubscribeUrl: isLifecycle ? url : null }).catch(
    () => null,
  )
}
