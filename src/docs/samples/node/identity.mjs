import { createHmac } from 'node:crypto'

/** Signs an email address, so that nobody can send page views in this user's name. */
export function identitySignature(email) {
  const secret = process.env.SERVICE_IDENTITY_SECRET ?? ''
  return createHmac('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}
