/** The account of an app at an email provider's API, as a form shows it; it is stored as a URL. */
import {
  type ApiAccount,
  type ApiName,
  DEFAULT_STREAM,
  hasStream,
  isApiKey,
  isApiName,
  isStream,
  makeApiAccount,
} from '../core/mail-apis.ts'
import type { FieldError } from '../core/refusals.ts'
import type { TypedSecret } from './typed-secrets.ts'

export type ApiText = { api: ApiName; apiKey: string; apiStream: string }

/** null if the form is that of a mail server. */
export function readApiText(text: (name: string) => string): ApiText | null {
  const api = text('api')
  return isApiName(api) ? { api, apiKey: text('apiKey'), apiStream: text('apiStream') } : null
}

/** Without the key, which never leaves the server. */
export const writeApiText = (api: ApiName, account: ApiAccount | null): ApiText => ({
  api,
  apiKey: '',
  apiStream: account?.stream ?? DEFAULT_STREAM,
})

export const typedKey = ({ api, apiKey }: ApiText): TypedSecret => ({ host: api, user: '', secret: apiKey.trim() })

/** `known`: what an empty key stands for. */
export function readApiAccount(
  text: ApiText,
  known: string | null,
): { account: ApiAccount } | { errors: FieldError[] } {
  const { api } = text
  const [typed, stream] = [text.apiKey.trim(), text.apiStream.trim() || DEFAULT_STREAM]
  const key = typed === '' ? known : typed
  const errors: FieldError[] = []
  if (key === null) errors.push({ field: 'apiKey', code: 'required', message: 'Enter the key.' })
  else if (!isApiKey(key))
    errors.push({ field: 'apiKey', code: 'invalid', message: 'Enter the key only, without spaces.' })
  if (hasStream(api) && !isStream(stream))
    errors.push({ field: 'apiStream', code: 'invalid', message: 'Enter the ID of a message stream, such as outbound.' })
  if (key === null || errors.length > 0) return { errors }
  return { account: makeApiAccount(api, { key, stream }) }
}
