import { randomBase62 } from '../core/base62.ts'

export const makeToken = (): string => randomBase62(43)

/** Tokens have 256 bits, so a plain hash is enough. */
export const hashToken = (token: string): string => Bun.SHA256.hash(token, 'base64url')
