import 'server-only'
import { createHmac } from 'node:crypto'

/** Sends an event to Eventpost. Errors are logged, never thrown. */
export async function sendEvent(email: string, event: string, properties: object = {}) {
  try {
    const response = await fetch('{base_url}/api/v1/events', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${process.env.SERVICE_API_KEY}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        app: '{app_id}',
        email,
        event,
        properties,
        createContact: true,
      }),
      signal: AbortSignal.timeout(10_000),
    })
    if (response.ok) return
    console.error('Eventpost refused an event:', response.status, await response.text())
  } catch (error) {
    console.error('Could not reach Eventpost:', error)
  }
}

/** Signs an email address, so that nobody can send page views in this user's name. */
export function identitySignature(email: string): string {
  const secret = process.env.SERVICE_IDENTITY_SECRET ?? ''
  return createHmac('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}
