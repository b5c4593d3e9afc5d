import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { StoreError } from './errors.ts'

export const SEALED_PREFIX = 'sealed:v1:'
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export type Sealer = ReturnType<typeof createSealer>

/**
 * AES-256-GCM; without a master key, text is stored as it is. `context` (column and row) is authenticated, so a
 * sealed value cannot be moved to another row.
 */
export function createSealer(masterKey: string | null) {
  const key = masterKey === null ? null : deriveKey(masterKey)
  return {
    hasKey: key !== null,

    seal(text: string, context: string): string {
      if (key === null) return text
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return SEALED_PREFIX + sealed.toString('base64url')
    },

    /** Returns unsealed text as it is. @throws StoreError `sealed` if it cannot be decrypted */
    unseal(text: string, context: string): string {
      if (!text.startsWith(SEALED_PREFIX)) return text
      if (key === null) throw refusal('The secrets in this database are encrypted.')
      try {
        return open(key, Buffer.from(text.slice(SEALED_PREFIX.length), 'base64url'), context)
      } catch {
        throw refusal('The secrets in this database are encrypted with a different key, or were modified.')
      }
    },
  }
}

const deriveKey = (masterKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', 'eventpost sealing v1', KEY_BYTES))

function open(key: Buffer, sealed: Buffer, context: string): string {
  const tagAt = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(tagAt))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString('utf8')
}

const refusal = (problem: string): StoreError =>
  new StoreError('sealed', `${problem} Set EVENTPOST_MASTER_KEY to the key they were encrypted with.`)
