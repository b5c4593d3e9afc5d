/** All that a customer's server does with Eventpost: it proves who is signed in, and tells what happened. */
import { createHmac } from 'node:crypto'

/** A job of the customer's never waits longer for Eventpost. */
const TIMEOUT_MS = 10_000

/** Key and secret stay on the server: `SERVICE_API_KEY` and `SERVICE_IDENTITY_SECRET` in its environment. */
export type Eventpost = { url: string; appId: string; siteId: string; apiKey: string; identitySecret: string }
export type User = { email: string; firstName: string }
export type Result = { id: string; url: string; headline: string }

/** The proof that goes into the page of a signed-in user: HMAC-SHA256 over the trimmed, lowercased email. */
export const signEmail = ({ identitySecret }: Eventpost, email: string): string =>
  createHmac('sha256', identitySecret).update(email.trim().toLowerCase()).digest('hex')

/** On sign-up: page views are kept of people whom Eventpost knows. */
export const addPerson = (eventpost: Eventpost, { email, firstName }: User): Promise<void> =>
  send(eventpost, '/contacts', crypto.randomUUID(), {
    newsletter: eventpost.appId,
    email,
    firstName,
    source: 'sign-up',
  })

/** The first time a user's results are ready: the one call that most customers need. */
export const sendResultsReady = (eventpost: Eventpost, { email }: User, result: Result): Promise<void> =>
  send(eventpost, '/events', result.id, {
    app: eventpost.appId,
    email,
    event: 'results_ready',
    createContact: true,
    properties: { url: result.url, headline: result.headline },
  })

/** Sends, and logs what fails: the customer's own work goes on. The same `key` is kept once, however often it is sent. */
async function send({ url, apiKey }: Eventpost, path: string, key: string, body: object): Promise<void> {
  try {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) console.error(`Eventpost refused ${path}: ${response.status} ${await response.text()}`)
  } catch (error) {
    console.error(`Eventpost did not answer ${path}: ${String(error)}`)
  }
}
