import { createSealer } from '../../store/engine/sealing.ts'

/** Encrypts values that must not appear in URLs and logs. `context`: the page and its app. */
export function createQuerySealer(key: string, context: string) {
  const sealer = createSealer(key)
  return {
    seal: (value: unknown): string => sealer.seal(JSON.stringify(value), context),

    /** null for text that `seal` didn't write. */
    open(text: string | null): unknown {
      try {
        const opened = text === null ? null : sealer.unseal(text, context)
        return opened === null || opened === text ? null : (JSON.parse(opened) as unknown)
      } catch {
        return null
      }
    },
  }
}
