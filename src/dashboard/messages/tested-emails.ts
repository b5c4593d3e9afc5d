import type { readMail } from './message-form.ts'

type TypedMail = ReturnType<typeof readMail>

/** Emails that were tested since the start. The oldest are forgotten. */
const KEPT = 500

export type TestedEmails = ReturnType<typeof createTestedEmails>

/** `isCaptured`: there was no mail server, so nothing was sent. */
export type TestedEmail = { to: string; isCaptured: boolean }

/** Remembers which texts were sent as a test, and to whom. */
export function createTestedEmails() {
  const tested = new Map<string, TestedEmail>()
  const keyOf = (appId: number, mail: TypedMail): string => `${appId} ${Bun.hash(JSON.stringify(mail))}`
  return {
    note(appId: number, mail: TypedMail, test: TestedEmail): void {
      const key = keyOf(appId, mail)
      tested.delete(key)
      tested.set(key, test)
      const [oldest] = tested.keys()
      if (tested.size > KEPT && oldest !== undefined) tested.delete(oldest)
    },
    /** The last test of this text; null if there was none. */
    find: (appId: number, mail: TypedMail): TestedEmail | null => tested.get(keyOf(appId, mail)) ?? null,
  }
}
