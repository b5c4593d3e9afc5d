/** Which emails: all to a person, of a message or of an app. */
export type HandedAbout = { contactId: number } | { messageId: number } | { appId: number }

/** What ends emails, and how many mail servers had by then: these may still arrive. */
export type Ended = { stillSending: number }

/** Said with the answer to such a change, where there are any. */
export const describeStillSending = (count: number): string =>
  count === 1
    ? 'One email was already with the mail server and may still arrive.'
    : `${count} emails were already with the mail server and may still arrive.`

/** Part of the mailer: what a change that ends emails waits for. */
export type HandedMail = {
  /**
   * After a change that ends emails: nothing more is handed over. Waits until mail servers have answered the emails that
   * were handed over before, for 5 seconds at most. @returns how many they have not answered by then
   */
  settleHanded(about: HandedAbout): Promise<number>
}
