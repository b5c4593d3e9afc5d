/** Takes webhooks of email providers: what became of emails after they were accepted. */
import type { AppRow } from '../accounts/access.ts'
import { type HookProvider, readHookSecrets } from '../accounts/hook-secrets.ts'
import type { Clock } from '../core/clock.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { readDelivery } from '../people/bounces.ts'
import type { Store } from '../store/store.ts'
import { type HookRequest, type Hooks, type ProviderReport, readJson } from './hook.ts'
import { BREVO_HOOKS } from './brevo-hooks.ts'
import { MAILGUN_HOOKS } from './mailgun-hooks.ts'
import { POSTMARK_HOOKS } from './postmark-hooks.ts'
import { RESEND_HOOKS } from './resend-hooks.ts'
import { SENDGRID_HOOKS } from './sendgrid-hooks.ts'
import { isTestId } from './test-mail.ts'

const HOOKS: Record<HookProvider, Hooks> = {
  postmark: POSTMARK_HOOKS,
  resend: RESEND_HOOKS,
  mailgun: MAILGUN_HOOKS,
  sendgrid: SENDGRID_HOOKS,
  brevo: BREVO_HOOKS,
}

type Taken = { app: AppRow | null; provider: HookProvider } & Pick<HookRequest, 'bytes' | 'header' | 'token'>

/**
 * Reports about other emails change nothing: several apps may share an account at the provider. Refusals:
 * invalid_signature, signature_expired, invalid_json.
 */
export async function takeHook(
  { store, clock }: { store: Store; clock: Clock },
  { app, provider, ...request }: Taken,
): Promise<{ known: number } | Refusal> {
  const at = clock.now()
  const secret = app && readHookSecrets(await store.mailSettings(app.id))[provider]
  if (!app || !secret) return refuse('invalid_signature')
  const hooks = HOOKS[provider]
  const unverified = hooks.verify({ ...request, secret, at })
  if (unverified) return unverified
  const body = readJson(request.bytes)
  if (body === null) return refuse('invalid_json')
  const found = hooks.read(body)
  const reports = found.flatMap(toReport)
  const tests = found.filter(({ delivery }) => isTestId(delivery)).length
  if (reports.length === 0 && tests === 0) return { known: 0 }
  return store.reportDeliveries({ appId: app.id, provider, at, reports, tests })
}

const toReport = ({ delivery, ...report }: ProviderReport) => {
  const deliveryId = readDelivery(delivery)
  return deliveryId === null ? [] : [{ deliveryId, ...report }]
}
