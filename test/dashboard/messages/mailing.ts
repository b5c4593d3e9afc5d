/** Shared: an app with a live message and recipients. */
import type { AppRow } from '../../../src/accounts/access.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import type { Sender } from '../../../src/mail/sender.ts'
import type { AccountPages } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'

export const MAIL: MessageContent = {
  trigger: { event: 'results_ready' },
  mail: { subject: '{{ event.headline }}', body: 'Hello {{ contact.email }}' },
}

/** Creates a live message and returns its id. */
export async function putMessage(
  pages: AccountPages,
  { app, name = 'A message', content = MAIL }: { app: AppRow; name?: string; content?: MessageContent },
): Promise<number> {
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  const saved = await pages.store.saveMessages({ ...by, drafts: [{ id: null, name, content, status: 'live' }] })
  if ('refusal' in saved) throw new Error(saved.refusal)
  // several messages go to one person here
  await pages.store.setMailSettings({ ...by, settings: { perPersonDay: null } })
  return saved.saved[0]?.id ?? 0
}

/** Records an event, which adds the person. */
export async function sendEvent(
  pages: AccountPages,
  { app, email, properties = { headline: 'Ready' } }: { app: AppRow; email: string; properties?: object },
): Promise<void> {
  await recordEvent(pages, app, { email, properties })
}

/** Sends what is due; emails are captured. */
export const sendDue = (pages: AccountPages): Promise<void> => (pages.mailer as Sender).sendDue()
