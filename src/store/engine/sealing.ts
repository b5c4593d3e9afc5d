import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { StoreError } from './errors.ts'

/** What a sealed text begins with; no secret of ours and no address of a mail server does. */
export const SEALED_PREFIX = 'sealed:v1:'
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export type Sealer = ReturnType<typeof createSealer>

/**
 * Seals texts with AES-256-GCM under a key drawn from the master key; without one texts stay as they are.
 * `place` is where the text is kept: what was sealed for one place does not open in another.
 */
export function createSealer(masterKey: string | null) {
  const key = masterKey === null ? null : drawKey(masterKey)
  return {
    hasKey: key !== null,

    /** The prefix, then base64url of the nonce, what is sealed and the tag. */
    seal(text: string, place: string): string {
      if (key === null) return text
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return SEALED_PREFIX + sealed.toString('base64url')
    },

    /** A text that was never sealed is returned as it is. @throws StoreError `sealed` where it does not open */
    unseal(text: string, place: string): string {
      if (!text.startsWith(SEALED_PREFIX)) return text
      if (key === null) throw refusal('The secrets in this database are sealed.')
      try {
        return open(key, Buffer.from(text.slice(SEALED_PREFIX.length), 'base64url'), place)
      } catch {
        throw refusal('The secrets in this database are sealed with another key, or were changed from outside.')
      }
    },
  }
}

const drawKey = (masterKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', 'eventpost sealing v1', KEY_BYTES))

function open(key: Buffer, sealed: Buffer, place: string): string {
  const tagAt = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(tagAt))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString('utf8')
}

const refusal = (wrong: string): StoreError =>
  new StoreError('sealed', `${wrong} Start with the EVENTPOST_MASTER_KEY they were sealed with.`)
