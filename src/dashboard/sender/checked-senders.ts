import type { AppRow } from '../../accounts/access.ts'
import { readReceived } from '../../accounts/dns-checks.ts'
import { type CheckedSender, listCheckedSenders } from '../../accounts/sender-checks.ts'
import { listSenderEmails } from '../../accounts/senders.ts'
import type { MailSettings } from '../../accounts/sender-settings.ts'
import type { PageDependencies } from '../layout/viewer.ts'

/** The domains that an app sends from, the default one first. */
export async function readCheckedSenders(
  { store, mailer, baseUrl }: Pick<PageDependencies, 'store' | 'mailer' | 'baseUrl'>,
  app: AppRow,
  settings: MailSettings,
): Promise<CheckedSender[]> {
  const { installation } = mailer.senders
  return listCheckedSenders(mailer.findMailRoute({ settings, app }), settings, {
    // the operator's own, unless it is the default
    emails: listSenderEmails(settings, installation).filter((email) => email !== installation.from?.address),
    received: await readReceived(store, app.id),
    baseUrl,
  })
}
