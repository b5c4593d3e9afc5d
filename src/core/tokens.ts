import { randomBase62 } from './base62.ts'

/** A new random text for a link or a cookie: 43 base62 characters, 256 bits. */
export const makeToken = (): string => randomBase62(43)

/** As it is stored and looked up. It has 256 bits, so a plain hash keeps it safe at rest. */
export const hashToken = (token: string): string => Bun.SHA256.hash(token, 'base64url')
