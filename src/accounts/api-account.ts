/** The account of an app at an email provider's API, as a form shows it; it is stored as a URL. */
import {
  type ApiAccount,
  type ApiName,
  defaultStreamOf,
  hasStream,
  isApiKey,
  isApiName,
  isAws,
  isAwsKeyId,
  isAwsRegion,
  isStream,
  makeApiAccount,
} from '../core/mail-apis.ts'
import type { FieldError } from '../core/refusals.ts'
import type { TypedSecret } from './typed-secrets.ts'

/** `awsKeyId`, `awsRegion`: empty except at Amazon SES. */
export type ApiText = { api: ApiName; apiKey: string; apiStream: string; awsKeyId: string; awsRegion: string }

/** null if the form is that of a mail server. */
export function readApiText(text: (name: string) => string): ApiText | null {
  const api = text('api')
  if (!isApiName(api)) return null
  return {
    api,
    apiKey: text('apiKey'),
    apiStream: text('apiStream'),
    awsKeyId: text('awsKeyId'),
    awsRegion: text('awsRegion'),
  }
}

/** Without the key, which never leaves the server. */
export const writeApiText = (api: ApiName, account: ApiAccount | null): ApiText => ({
  api,
  apiKey: '',
  apiStream: account === null ? (defaultStreamOf(api) ?? '') : (account.stream ?? ''),
  awsKeyId: account?.aws?.keyId ?? '',
  awsRegion: account?.aws?.region ?? '',
})

export const typedKey = ({ api, apiKey, awsKeyId }: ApiText): TypedSecret => ({
  host: api,
  user: awsKeyId.trim(),
  secret: apiKey.trim(),
})

/** What an empty key stands for. */
export const storedKey = ({ api, awsKeyId }: ApiText, stored: ApiAccount | null): string | null =>
  stored?.api === api && (stored.aws?.keyId ?? '') === awsKeyId.trim() ? stored.key : null

/** `known`: what an empty key stands for. */
export function readApiAccount(
  text: ApiText,
  known: string | null,
): { account: ApiAccount } | { errors: FieldError[] } {
  const { api } = text
  const errors: FieldError[] = []
  const fault = (field: keyof ApiText, code: 'required' | 'invalid', message: string): void =>
    void errors.push({ field, code, message })
  const [typed, stream] = [text.apiKey.trim(), text.apiStream.trim() || defaultStreamOf(api)]
  const [keyId, region] = [text.awsKeyId.trim(), text.awsRegion.trim()]
  if (isAws(api) && region === '') fault('awsRegion', 'required', 'Choose the region of your SES identity.')
  else if (isAws(api) && !isAwsRegion(region)) fault('awsRegion', 'invalid', 'Choose a region such as eu-west-1.')
  if (isAws(api) && keyId === '') fault('awsKeyId', 'required', 'Enter the access key ID.')
  else if (isAws(api) && !isAwsKeyId(keyId))
    fault('awsKeyId', 'invalid', 'Enter the access key ID only, such as AKIAIOSFODNN7EXAMPLE.')
  const key = typed === '' ? known : typed
  if (key === null) fault('apiKey', 'required', isAws(api) ? 'Enter the secret access key.' : 'Enter the key.')
  else if (!isApiKey(key)) fault('apiKey', 'invalid', 'Enter the key only, without spaces.')
  if (hasStream(api) && stream !== null && !isStream(stream)) fault('apiStream', 'invalid', STREAM_MESSAGES[api])
  if (key === null || errors.length > 0) return { errors }
  return { account: makeApiAccount(api, { key, stream, ...(isAws(api) ? { aws: { keyId, region } } : {}) }) }
}

/** https://docs.aws.amazon.com/general/latest/gr/ses.html */
export const AWS_REGIONS: readonly [region: string, place: string][] = [
  ['us-east-1', 'N. Virginia'],
  ['us-east-2', 'Ohio'],
  ['us-west-1', 'N. California'],
  ['us-west-2', 'Oregon'],
  ['af-south-1', 'Cape Town'],
  ['ap-south-1', 'Mumbai'],
  ['ap-south-2', 'Hyderabad'],
  ['ap-northeast-1', 'Tokyo'],
  ['ap-northeast-2', 'Seoul'],
  ['ap-northeast-3', 'Osaka'],
  ['ap-southeast-1', 'Singapore'],
  ['ap-southeast-2', 'Sydney'],
  ['ap-southeast-3', 'Jakarta'],
  ['ap-southeast-5', 'Malaysia'],
  ['ca-central-1', 'Central Canada'],
  ['ca-west-1', 'Calgary'],
  ['eu-central-1', 'Frankfurt'],
  ['eu-central-2', 'Zurich'],
  ['eu-north-1', 'Stockholm'],
  ['eu-south-1', 'Milan'],
  ['eu-west-1', 'Ireland'],
  ['eu-west-2', 'London'],
  ['eu-west-3', 'Paris'],
  ['il-central-1', 'Tel Aviv'],
  ['me-central-1', 'UAE'],
  ['me-south-1', 'Bahrain'],
  ['sa-east-1', 'São Paulo'],
  ['us-gov-east-1', 'US-East, GovCloud'],
  ['us-gov-west-1', 'US-West, GovCloud'],
]

const STREAM_MESSAGES: Record<ApiName, string> = {
  postmark: 'Enter the ID of a message stream, such as outbound.',
  resend: '',
  ses: 'Enter the name of a configuration set: letters, digits, - and _.',
}
