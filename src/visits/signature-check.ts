import { type SecretRow, signEmail, verifyIdentity } from '../accounts/identity.ts'

/**
 * What a signature is: `current` and `previous` are accepted; `expired` was made with a secret that is not any more;
 * `uppercase` would be right in lowercase; `unfolded` signs the email as it was typed, not trimmed and lowercased;
 * `malformed` is not 64 hex characters; `wrong` fits nothing.
 */
export type SignatureVerdict = 'current' | 'previous' | 'expired' | 'uppercase' | 'unfolded' | 'malformed' | 'wrong'

/**
 * Judges a signature as POST /c does, and goes on to what may have gone wrong. `secrets` are all of the
 * account, also those rotated out; `now` is milliseconds UTC. For whoever may see the account: it tells more than a
 * stranger should know.
 */
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
