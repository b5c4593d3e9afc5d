/** What authenticates the webhooks of an app's email providers. Each provider keeps its own, as its webhooks come late. */
import { createPublicKey } from 'node:crypto'
import { randomBase62 } from '../core/base62.ts'
import type { FieldError } from '../core/refusals.ts'
import type { MailSettings } from '../store/message-types.ts'

/** IDs of providers (mail-providers.ts) whose webhooks are read. */
export const HOOK_PROVIDERS = ['postmark', 'resend', 'ses', 'mailgun', 'sendgrid', 'brevo'] as const
export type HookProvider = (typeof HOOK_PROVIDERS)[number]

export const isHookProvider = (text: string): text is HookProvider => HOOK_PROVIDERS.some((one) => one === text)

/**
 * What the provider made, and where the form names it. `isTopic`: it is the topic of Amazon SNS that the webhooks come
 * from, which is no secret; instead, the URL contains `topicTokenOf`.
 */
type Signing = { label: string; isFit: (text: string) => boolean; message: string; isTopic?: true }

/** `url`: the webhook's URL contains the secret, because the provider doesn't sign. */
export const HOOK_SECRETS: Record<HookProvider, 'url' | Signing> = {
  postmark: 'url',
  brevo: 'url',
  resend: {
    label: 'Signing secret',
    isFit: (text) => /^whsec_[A-Za-z0-9+/]{16,200}={0,2}$/.test(text),
    message: 'Enter the signing secret, which starts with whsec_.',
  },
  ses: {
    label: 'Topic ARN',
    isFit: (text) => /^arn:aws(?:-cn|-us-gov)?:sns:[a-z0-9-]{5,30}:\d{12}:[A-Za-z0-9_-]{1,256}$/.test(text),
    message: 'Enter the ARN of the SNS topic, such as arn:aws:sns:eu-west-1:123456789012:ses.',
    isTopic: true,
  },
  mailgun: {
    label: 'HTTP webhook signing key',
    isFit: (text) => /^[!-~]{16,200}$/.test(text),
    message: 'Enter the HTTP webhook signing key from your Mailgun account.',
  },
  sendgrid: {
    label: 'Verification key',
    isFit: isPublicKey,
    message: 'Enter the verification key for the signed event webhook.',
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

/** Known to the account's members only, so that nobody else's topic is the first to be confirmed. */
export const topicTokenOf = (key: string, appId: string): string =>
  new Bun.CryptoHasher('sha256', key).update(`hooks/ses/${appId}`).digest('hex').slice(0, TOPIC_TOKEN_CHARACTERS)

/** 128 bits. */
const TOPIC_TOKEN_CHARACTERS = 32

export const isTopicArn = (text: string): boolean => !('errors' in readSigningSecret('ses', text))

export const hookPath = (provider: HookProvider, appId: string, token?: string): string =>
  `/hooks/${provider}/${appId}${token === undefined ? '' : `/${token}`}`

export function readSigningSecret(provider: HookProvider, text: string): { secret: string } | { errors: FieldError[] } {
  const [signing, secret] = [HOOK_SECRETS[provider], text.trim()]
  if (signing !== 'url' && signing.isFit(secret)) return { secret }
  const message = signing === 'url' ? '' : signing.message
  return { errors: [{ field: 'hookSecret', code: 'invalid', message }] }
}
