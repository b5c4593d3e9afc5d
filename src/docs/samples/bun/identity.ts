/** Proves to Eventpost that a page speaks for this user. */
export function identitySignature(email: string): string {
  const secret = Bun.env.SERVICE_IDENTITY_SECRET ?? ''
  return new Bun.CryptoHasher('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}
