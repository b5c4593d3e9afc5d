/** Requests to the webhook for alerts, signed as in https://www.standardwebhooks.com. */
import { createHmac } from 'node:crypto'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { lookup as lookUpHost } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress, isRefusedHost, type PrivateHosts } from '../core/public-addresses.ts'

/** `secret` null: requests aren't signed. */
export type WebhookTarget = { url: string; secret: string | null; allowed: PrivateHosts }

export type WebhookCall = { id: string; at: number; body: string }

/** `reason`: why it did not arrive, for the operator. */
export type WebhookResult = { isSent: true } | { isSent: false; reason: string }

export type CallWebhook = (call: WebhookCall) => Promise<WebhookResult>

const WITHIN_MS = 10_000
const SECRET_PREFIX = 'whsec_'

/** Base64 after `whsec_`, else the text itself. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(SECRET_PREFIX) ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64') : Buffer.from(secret)

export const signWebhook = (secret: string, { id, at, body }: WebhookCall): string =>
  `v1,${createHmac('sha256', keyOf(secret))
    .update(`${id}.${secondsOf(at)}.${body}`)
    .digest('base64')}`

const secondsOf = (at: number): number => Math.floor(at / 1_000)

/** Follows no redirects and reads no answer beyond its status. */
export function createWebhook({ url: text, secret, allowed }: WebhookTarget): CallWebhook {
  const url = new URL(text)
  return async (call) => {
    if (isRefusedHost(bareHost(url), allowed)) return { isSent: false, reason: describePrivate(url) }
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(call.body),
      'User-Agent': 'Eventpost',
      'webhook-id': call.id,
      'webhook-timestamp': secondsOf(call.at),
      ...(secret === null ? {} : { 'webhook-signature': signWebhook(secret, call) }),
    }
    return send(url, { method: 'POST', headers, lookup: guardedLookup(url, allowed) }, call.body)
  }
}

/** Connects, and says nothing about an alert. */
export async function checkWebhook({ url: text, allowed }: WebhookTarget): Promise<WebhookResult> {
  const url = new URL(text)
  if (isRefusedHost(bareHost(url), allowed)) return { isSent: false, reason: describePrivate(url) }
  const answered = await send(url, { method: 'HEAD', lookup: guardedLookup(url, allowed) }, '')
  // any answer shows that somebody is there: few webhooks take HEAD
  return answered.isSent || 'status' in answered ? { isSent: true } : answered
}

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

const describePrivate = ({ hostname }: URL): string =>
  `${hostname} is not a public address. To allow it, add it to EVENTPOST_ALERT_PRIVATE_HOSTS.`

/** Checks the addresses that are then connected to, because a name could change in between. */
const guardedLookup =
  (url: URL, allowed: PrivateHosts): LookupFunction =>
  (host, options, done) => {
    lookUpHost(host, { all: true }).then(
      (found) => {
        const fit = found.filter(({ address }) => isAllowedAddress(bareHost(url), address, allowed))
        const [first] = fit
        if (first === undefined) done(Object.assign(new Error(describePrivate(url)), { code: 'EPRIVATE' }), '')
        else if (options.all) done(null, fit)
        else done(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    )
  }

async function send(
  url: URL,
  options: RequestOptions,
  body: string,
): Promise<WebhookResult | { isSent: false; reason: string; status: number }> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof send>>>()
  const host = isIP(bareHost(url)) === 0 ? {} : { servername: '' }
  const asked: ClientRequest = request(url, { ...options, ...host, agent: false }, (answer: IncomingMessage) => {
    const status = answer.statusCode ?? 0
    asked.destroy()
    const isSent = status >= 200 && status < 300
    resolve(isSent ? { isSent } : { isSent, status, reason: `${url.host} responded with status ${status}.` })
  })
  const timer = setTimeout(() => {
    resolve({ isSent: false, reason: `${url.host} did not respond within ${WITHIN_MS / 1_000} seconds.` })
    asked.destroy()
  }, WITHIN_MS)
  asked.on('error', (error: NodeJS.ErrnoException) =>
    resolve({ isSent: false, reason: `${url.host} can't be reached (${error.code ?? error.message}).` }),
  )
  asked.end(body)
  return promise.finally(() => clearTimeout(timer))
}
