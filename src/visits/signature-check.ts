import { type SecretRow, signEmail, verifyIdentity } from '../accounts/identity.ts'

/**
 * `expired`: a retired secret. `uppercase`: right if lowercased. `unfolded`: signs the untrimmed email. `malformed`:
 * not 64 hex characters. `wrong`: none of these.
 */
export type SignatureVerdict = 'current' | 'previous' | 'expired' | 'uppercase' | 'unfolded' | 'malformed' | 'wrong'

/** Like POST /c, but with the likely cause. For members only. `secrets`: all of the account; `now`: ms UTC. */
export function checkSignature(claim: {
  email: string
  signature: string
  secrets: readonly SecretRow[]
  now: number
}): SignatureVerdict {
  const { email, signature, secrets } = claim
  const verified = verifyIdentity(claim)
  if (verified.ok) return verified.isPrevious ? 'previous' : 'current'
  if (verified.reason === 'malformed') return 'malformed'
  if (verified.reason === 'uppercase') {
    return verifyIdentity({ ...claim, signature: signature.toLowerCase() }).ok ? 'uppercase' : 'wrong'
  }
  if (secrets.some(({ secret }) => signEmail(email, secret) === signature)) return 'expired'
  return secrets.some(({ secret }) => signAsTyped(email, secret) === signature) ? 'unfolded' : 'wrong'
}

const signAsTyped = (email: string, secret: string): string =>
  new Bun.CryptoHasher('sha256', secret).update(email).digest('hex')
