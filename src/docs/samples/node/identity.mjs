import { createHmac } from 'node:crypto'

/** Proves to Eventpost that a page speaks for this user. */
export function identitySignature(email) {
  const secret = process.env.SERVICE_IDENTITY_SECRET ?? ''
  return createHmac('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}
