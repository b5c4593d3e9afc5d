/** What authenticates the webhooks of an app's email providers. Each provider keeps its own, as its webhooks come late. */
import { randomBase62 } from '../core/base62.ts'
import type { FieldError } from '../core/refusals.ts'
import type { MailSettings } from '../store/message-types.ts'

/** IDs of providers (mail-providers.ts) whose webhooks are read. */
export const HOOK_PROVIDERS = ['postmark', 'resend'] as const
export type HookProvider = (typeof HOOK_PROVIDERS)[number]

export const isHookProvider = (text: string): text is HookProvider => HOOK_PROVIDERS.some((one) => one === text)

/** `url`: the webhook's URL contains it, because the provider doesn't sign. `signing`: the provider made it. */
export const HOOK_SECRETS: Record<HookProvider, 'url' | 'signing'> = { postmark: 'url', resend: 'signing' }

type HookSecrets = Partial<Record<HookProvider, string>>

export const readHookSecrets = ({ hookSecrets }: Pick<MailSettings, 'hookSecrets'>): HookSecrets =>
  hookSecrets === null ? {} : (JSON.parse(hookSecrets) as HookSecrets)

export const writeHookSecret = (
  settings: Pick<MailSettings, 'hookSecrets'>,
  provider: HookProvider,
  secret: string,
): string => JSON.stringify({ ...readHookSecrets(settings), [provider]: secret })

/** Slightly over 128 bits. */
const TOKEN_CHARACTERS = 22

export const makeHookToken = (): string => randomBase62(TOKEN_CHARACTERS)

export const hookPath = (provider: HookProvider, appId: string, token?: string): string =>
  `/hooks/${provider}/${appId}${token === undefined ? '' : `/${token}`}`

const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{16,200}={0,2}$/

export function readSigningSecret(text: string): { secret: string } | { errors: FieldError[] } {
  const secret = text.trim()
  if (SIGNING_SECRET.test(secret)) return { secret }
  return {
    errors: [{ field: 'hookSecret', code: 'invalid', message: 'Enter the signing secret, which starts with whsec_.' }],
  }
}
