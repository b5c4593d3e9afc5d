/** What authenticates the webhooks of an app's email providers. Each provider keeps its own, as its webhooks come late. */
import { createPublicKey } from 'node:crypto'
import { randomBase62 } from '../core/base62.ts'
import type { FieldError } from '../core/refusals.ts'
import type { MailSettings } from '../store/message-types.ts'

/** IDs of providers (mail-providers.ts) whose webhooks are read. */
export const HOOK_PROVIDERS = ['postmark', 'resend', 'mailgun', 'sendgrid', 'brevo'] as const
export type HookProvider = (typeof HOOK_PROVIDERS)[number]

export const isHookProvider = (text: string): text is HookProvider => HOOK_PROVIDERS.some((one) => one === text)

/** What the provider made, and where the form names it. */
type Signing = { label: string; isFit: (text: string) => boolean; message: string }

/** `url`: the webhook's URL contains the secret, because the provider doesn't sign. */
export const HOOK_SECRETS: Record<HookProvider, 'url' | Signing> = {
  postmark: 'url',
  brevo: 'url',
  resend: {
    label: 'Signing secret',
    isFit: (text) => /^whsec_[A-Za-z0-9+/]{16,200}={0,2}$/.test(text),
    message: 'Enter the signing secret, which starts with whsec_.',
  },
  mailgun: {
    label: 'HTTP webhook signing key',
    isFit: (text) => /^[!-~]{16,200}$/.test(text),
    message: 'Enter the HTTP webhook signing key of your Mailgun account.',
  },
  sendgrid: {
    label: 'Verification key',
    isFit: isPublicKey,
    message: 'Enter the verification key of the signed event webhook.',
  },
}

function isPublicKey(text: string): boolean {
  try {
    return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' }).asymmetricKeyType === 'ec'
  } catch {
    return false
  }
}

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

export function readSigningSecret(provider: HookProvider, text: string): { secret: string } | { errors: FieldError[] } {
  const [signing, secret] = [HOOK_SECRETS[provider], text.trim()]
  if (signing !== 'url' && signing.isFit(secret)) return { secret }
  const message = signing === 'url' ? '' : signing.message
  return { errors: [{ field: 'hookSecret', code: 'invalid', message }] }
}
