/**
 * A mail server in a process of its own that takes everything, and says how much and for how long. It reads only what an
 * SMTP conversation needs, so that what is measured is the sender and not this.
 */
import { createSinkCount } from './sink-count.ts'

const COMMANDS_OFFERED = '250-mail-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
const END_OF_MAIL = '\r\n.\r\n'

type Conversation = { rest: string; isMail: boolean; to: string }

const { take } = createSinkCount()

function answer(open: Conversation, line: string): string {
  const command = line.slice(0, 4).toUpperCase()
  if (command === 'EHLO') return COMMANDS_OFFERED
  if (command === 'RCPT') open.to = line.slice(line.indexOf('<') + 1, line.indexOf('>'))
  if (command === 'DATA') open.isMail = true
  if (command === 'QUIT') return '221 bye\r\n'
  return command === 'DATA' ? '354 go on\r\n' : '250 ok\r\n'
}

/** The replies to what has come, and what of it is not complete. */
function read(open: Conversation): string {
  let replies = ''
  for (;;) {
    const end = open.rest.indexOf(open.isMail ? END_OF_MAIL : '\r\n')
    if (end < 0) break
    if (open.isMail) {
      take(open.to)
      open.isMail = false
      open.rest = open.rest.slice(end + END_OF_MAIL.length)
      replies += '250 taken\r\n'
    } else {
      const line = open.rest.slice(0, end)
      open.rest = open.rest.slice(end + 2)
      replies += answer(open, line)
    }
  }
  // of an email only its end is looked for
  if (open.isMail) open.rest = open.rest.slice(1 - END_OF_MAIL.length)
  return replies
}

const listener = Bun.listen<Conversation>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { rest: '', isMail: false, to: '' }
      socket.write('220 mail-sink\r\n')
    },
    data(socket, bytes) {
      socket.data.rest += bytes.toString('latin1')
      const replies = read(socket.data)
      if (replies !== '') socket.write(replies)
      if (replies.endsWith('221 bye\r\n')) socket.end()
    },
  },
})
console.log(`listening on smtp://127.0.0.1:${listener.port}`)
