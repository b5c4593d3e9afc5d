export type HandOverScope = { contactId: number } | { messageId: number } | { appId: number }

/** `stillSending`: emails that mail servers already had and that may still arrive. */
export type StoppedEmails = { stillSending: number }

export const describeStillSending = (count: number): string =>
  count === 1
    ? 'One email was already with the mail server and may still arrive.'
    : `${count} emails were already with the mail server and may still arrive.`

export type HandOvers = {
  /**
   * Call after a change that ends emails. Waits up to 5 seconds for the replies to emails already handed over. @returns
   * how many are still open
   */
  waitForReplies(about: HandOverScope): Promise<number>
}
