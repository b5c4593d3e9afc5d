/** Who is held back from a message, so that its results can show what the email itself changed. */

type Ids = { contactId: number; messageId: number }

const HASH_RANGE = 2 ** 32

/**
 * The person's place among all people of the message, from 0 to under 100: evenly spread, the same in every version, and
 * unrelated to their places in other messages. A larger share keeps everyone that a smaller one held back.
 */
export const placeInMessage = ({ contactId, messageId }: Ids): number =>
  (100 * new DataView(Bun.SHA256.hash(`${messageId}:${contactId}`).buffer).getUint32(0)) / HASH_RANGE
