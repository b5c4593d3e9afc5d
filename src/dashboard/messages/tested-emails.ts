import type { readMail } from './message-form.ts'

type TypedMail = ReturnType<typeof readMail>

/** Emails that were tested since the start. The oldest are forgotten. */
const KEPT = 500

export type TestedEmails = ReturnType<typeof createTestedEmails>

/** Remembers which texts were sent as a test, and to whom. */
export function createTestedEmails() {
  const tested = new Map<string, string>()
  const keyOf = (appId: number, mail: TypedMail): string => `${appId} ${Bun.hash(JSON.stringify(mail))}`
  return {
    note(appId: number, mail: TypedMail, to: string): void {
      const key = keyOf(appId, mail)
      tested.delete(key)
      tested.set(key, to)
      const [oldest] = tested.keys()
      if (tested.size > KEPT && oldest !== undefined) tested.delete(oldest)
    },
    /** The address that got it; null if none did. */
    find: (appId: number, mail: TypedMail): string | null => tested.get(keyOf(appId, mail)) ?? null,
  }
}
