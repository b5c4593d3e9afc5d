/** Signs an email address, so that nobody can send page views in this user's name. */
export function identitySignature(email: string): string {
  const secret = Bun.env.SERVICE_IDENTITY_SECRET ?? ''
  return new Bun.CryptoHasher('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}
