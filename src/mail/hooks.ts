/** Takes webhooks of email providers: what became of emails after they were accepted. */
import type { AppRow } from '../accounts/access.ts'
import {
  type HookProvider,
  isTopicArn,
  readHookSecrets,
  topicTokenOf,
  writeHookSecret,
} from '../accounts/hook-secrets.ts'
import type { Clock } from '../core/clock.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { readDelivery } from '../people/bounces.ts'
import type { MailSettings } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { type HookRequest, type Hooks, isSame, type ProviderReport, readJson, refuseSignature } from './hook.ts'
import { BREVO_HOOKS } from './brevo-hooks.ts'
import { MAILGUN_HOOKS } from './mailgun-hooks.ts'
import { POSTMARK_HOOKS } from './postmark-hooks.ts'
import { RESEND_HOOKS } from './resend-hooks.ts'
import { SENDGRID_HOOKS } from './sendgrid-hooks.ts'
import { SES_EVENTS } from './ses-hooks.ts'
import {
  createSns,
  type FetchText,
  fetchText,
  findConfirmation,
  isConfirmation,
  readSnsMessage,
  type SnsMessage,
} from './sns.ts'
import { isTestId } from './test-mail.ts'

/** Amazon SES reports through SNS, whose messages are about more than emails. */
type SignedProvider = Exclude<HookProvider, 'ses'>

const HOOKS: Record<SignedProvider, Hooks> = {
  postmark: POSTMARK_HOOKS,
  resend: RESEND_HOOKS,
  mailgun: MAILGUN_HOOKS,
  sendgrid: SENDGRID_HOOKS,
  brevo: BREVO_HOOKS,
}

const refuseSns = (hint: string): Refusal => refuse('invalid_signature', { hint })

const WRONG_URL = refuseSns(
  'The secret at the end of the URL is missing or wrong. Copy the URL from Sender, Mail server.',
)
const NO_MESSAGE = refuseSns(
  'The body is not a signed message from Amazon SNS. Turn off raw message delivery in the subscription.',
)
const WRONG_TOPIC = refuseSns(
  '`TopicArn` is not the topic that this app accepts messages from. See Sender, Mail server.',
)
const WRONG_MESSAGE = refuseSns(
  '`Signature` does not match the fields of this message and the certificate at `SigningCertURL`.',
)
const WRONG_CONFIRMATION = refuseSns('`SubscribeURL` does not point to Amazon SNS, or is for another topic.')

const isUnexplained = ({ refusal, hint }: Refusal): boolean => refusal === 'invalid_signature' && hint === undefined

type Webhook = Pick<HookRequest, 'bytes' | 'header' | 'token'>
type Taken = Webhook & { app: AppRow | null; provider: HookProvider }

/** `body`: what is reported; null: nothing. */
type Read = { body: object | null }
const NOTHING: Read = { body: null }

/**
 * Reports about other emails change nothing: several apps may share an account at the provider. Refusals:
 * invalid_signature, signature_expired, invalid_json, unavailable.
 */
export type TakeHook = (taken: Taken) => Promise<{ known: number } | Refusal>

/** `topicKey`: of `topicTokenOf`. `fetchSns`: replaced in tests. */
type Given = { store: Store; clock: Clock; topicKey: string; fetchSns?: FetchText }

export function createTakeHook({ store, clock, topicKey, fetchSns = fetchText }: Given): TakeHook {
  const sns = createSns(fetchSns)

  /** The topic of the first subscription is kept, unless one was typed in. */
  const keepTopic = async (app: AppRow, { hookSecrets }: MailSettings, topic: string): Promise<Refusal | null> => {
    const settings = { hookSecrets: writeHookSecret({ hookSecrets }, 'ses', topic) }
    const by = { accountId: app.accountId, appId: app.id, actor: 'eventpost', at: clock.now() }
    const saved = await store.setMailSettings({ ...by, settings, basedOn: { hookSecrets } })
    // whatever the reason, SNS asks again
    return 'refusal' in saved ? refuse('unavailable') : null
  }

  const confirm = async (app: AppRow, settings: MailSettings, message: SnsMessage): Promise<Refusal | null> => {
    const url = findConfirmation(message)
    if (url === null) return WRONG_CONFIRMATION
    const isKept = readHookSecrets(settings).ses !== undefined
    return (isKept ? null : await keepTopic(app, settings, message.TopicArn)) ?? sns.confirm(url)
  }

  const readTopic = async (app: AppRow, { bytes, token }: Webhook, at: number): Promise<Read | Refusal> => {
    if (!isSame(token, topicTokenOf(topicKey, app.publicId))) return WRONG_URL
    const message = readSnsMessage(bytes)
    if (message === null) return readJson(bytes) === null ? refuse('invalid_json') : NO_MESSAGE
    const settings = await store.mailSettings(app.id)
    const { ses: topic = isConfirmation(message) ? message.TopicArn : null } = readHookSecrets(settings)
    if (message.TopicArn !== topic || !isTopicArn(topic)) return WRONG_TOPIC
    const unverified = await sns.verify(message, at)
    if (unverified) return isUnexplained(unverified) ? WRONG_MESSAGE : unverified
    if (isConfirmation(message)) return (await confirm(app, settings, message)) ?? NOTHING
    return message.Type === 'Notification' ? { body: readJson(Buffer.from(message.Message)) } : NOTHING
  }

  const readSigned = async (
    { id }: AppRow,
    { provider, ...request }: Webhook & { provider: SignedProvider },
    at: number,
  ): Promise<Read | Refusal> => {
    const secret = readHookSecrets(await store.mailSettings(id))[provider]
    const refuseUnsigned = () => refuseSignature(HOOKS[provider], request)
    if (!secret) return refuseUnsigned()
    const unverified = HOOKS[provider].verify({ ...request, secret, at })
    if (unverified) return isUnexplained(unverified) ? refuseUnsigned() : unverified
    const body = readJson(request.bytes)
    return body === null ? refuse('invalid_json') : { body }
  }

  return async ({ app, provider, ...request }) => {
    if (!app) return provider === 'ses' ? WRONG_URL : refuseSignature(HOOKS[provider], request)
    const at = clock.now()
    const read = await (provider === 'ses'
      ? readTopic(app, request, at)
      : readSigned(app, { ...request, provider }, at))
    if ('refusal' in read) return read
    const found = (provider === 'ses' ? SES_EVENTS : HOOKS[provider]).read(read.body)
    const reports = found.flatMap(toReport)
    const tests = found.filter(({ delivery }) => isTestId(delivery)).length
    if (reports.length === 0 && tests === 0) return { known: 0 }
    return store.reportDeliveries({ appId: app.id, provider, at, reports, tests })
  }
}

const toReport = ({ delivery, ...report }: ProviderReport) => {
  const deliveryId = readDelivery(delivery)
  return deliveryId === null ? [] : [{ deliveryId, ...report }]
}
