/**
 * The API of an email provider in a process of its own that takes everything, and says how much and for how long. It reads
 * only the recipient, so that what is measured is the sender and not this.
 */
import { createSinkCount } from './sink-count.ts'

/** As Postmark, Resend and Amazon SES name the recipient. */
const RECIPIENT = /"(?:To|to|ToAddresses)":\[?"((?:[^"\\]|\\.)+)"/
/** What each of them answers, in one. */
const TAKEN = { MessageID: '1', MessageId: '1', id: '1', ErrorCode: 0, Message: 'OK' }

const { take } = createSinkCount()

const { url } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    take(RECIPIENT.exec(await request.text())?.[1] ?? '')
    return Response.json(TAKEN)
  },
})
console.log(`listening on ${url.origin}`)
