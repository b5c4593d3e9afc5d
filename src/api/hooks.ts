import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { HOOK_PROVIDERS, HOOK_SECRETS, type HookProvider, isHookProvider } from '../accounts/hook-secrets.ts'
import { listNames } from '../core/json.ts'
import { WebhookAnswer } from '../http/answer-schemas.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { factsOf } from '../http/request-facts.ts'
import { readBytes } from '../http/request-input.ts'
import { replaceUnreadable } from '../http/request-paths.ts'
import { isRefusal, refuse } from '../core/refusals.ts'
import { SIGNATURE_EXPIRED } from '../mail/hook.ts'
import type { TakeHook } from '../mail/hooks.ts'
import type { Store } from '../store/store.ts'
import { describeUnkeyed } from './describe.ts'
import { EXAMPLES } from './examples.ts'

/** A provider may add a copy of the email. */
const HOOK_BYTES = 1024 * 1024
const TOO_LARGE = refuse('too_large', { message: 'The webhook is too large. Eventpost reads up to 1 MB.' })
const TAKEN = { ok: true }

const EVENT = Type.Object({}, { additionalProperties: true })

const ProviderWebhook = Type.Union([EVENT, Type.Array(EVENT)], {
  title: 'ProviderWebhook',
  description: "In the provider's format: see its documentation.",
})

type Params = { provider: string; app: string; token?: string }

/** POST /hooks/PROVIDER/APP: reports of email providers about emails. */
export function hookRoutes({ store, takeHook }: { store: Store; takeHook: TakeHook }) {
  const take = async (request: Request, { provider, app: appId, token = '' }: Params): Promise<Response> => {
    if (!isHookProvider(provider)) return refusalAnswer(request, refuse('not_found'))
    const bytes = await readBytes(request, HOOK_BYTES)
    if (bytes === null) return refusalAnswer(request, TOO_LARGE)
    const app = await store.findAppByPublicId(appId)
    factsOf(request).app = app ?? undefined
    const header = (name: string): string => request.headers.get(name) ?? ''
    const taken = await takeHook({ app, provider, bytes, header, token })
    return isRefusal(taken) ? refusalAnswer(request, taken) : answer(request, 200, TAKEN)
  }
  return new Elysia()
    .onTransform(replaceUnreadable)
    .post('/hooks/:provider/:app', ({ request, params }) => take(request, params), {
      parse: 'none',
      detail: describeUnkeyed({
        operationId: 'takeSignedWebhook',
        summary: 'Report deliveries (signed webhook)',
        description:
          'For webhooks from email providers that sign them. Reports about unknown emails change nothing. Sending the same webhook twice is safe.',
        example: EXAMPLES.takeSignedWebhook,
        body: ProviderWebhook,
        answers: { 200: WebhookAnswer },
        refusals: [TOO_LARGE, 'invalid_signature', SIGNATURE_EXPIRED, 'not_found'],
        parameters: [providerIn(SIGNING), APP],
        scheme: 'providerSignature',
      }),
    })
    .post('/hooks/:provider/:app/:token', ({ request, params }) => take(request, params), {
      parse: 'none',
      detail: describeUnkeyed({
        operationId: 'takeWebhook',
        summary: 'Report deliveries (secret URL)',
        description:
          "For webhooks from email providers that don't sign them, and for messages from Amazon SNS, whose signature is verified too. Reports about unknown emails change nothing. Sending the same webhook twice is safe.",
        example: EXAMPLES.takeWebhook,
        body: ProviderWebhook,
        answers: { 200: WebhookAnswer },
        refusals: [TOO_LARGE, 'invalid_signature', SIGNATURE_EXPIRED, 'not_found'],
        parameters: [providerIn(IN_URL), APP, TOKEN],
        scheme: null,
      }),
    })
}

/** Whether the URL of its webhooks ends with a secret. */
const hasToken = (provider: HookProvider): boolean => {
  const signing = HOOK_SECRETS[provider]
  return signing === 'url' || signing.isTopic === true
}
const IN_URL = HOOK_PROVIDERS.filter(hasToken)
const SIGNING = HOOK_PROVIDERS.filter((one) => !hasToken(one))

const providerIn = (providers: readonly HookProvider[]) => ({
  name: 'provider',
  in: 'path' as const,
  required: true as const,
  description: `The email provider: one of ${listNames(providers)}.`,
  schema: { type: 'string' as const },
})
const APP = {
  name: 'app',
  in: 'path' as const,
  required: true as const,
  description: 'The app ID.',
  schema: { type: 'string' as const },
}
const TOKEN = {
  name: 'token',
  in: 'path' as const,
  required: true as const,
  description: 'The secret in the URL, from Sender, Mail server.',
  schema: { type: 'string' as const },
}
