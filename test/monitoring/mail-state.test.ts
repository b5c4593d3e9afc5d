import { expect, test } from 'bun:test'
import { type AlertFacts, findConditions, readServerAlert, type ServerFacts } from '../../src/monitoring/alerts.ts'
import { describeWait } from '../../src/monitoring/mail-state.ts'

const APP = { publicId: 'app_1', name: 'Emails from B wait', accountId: 'acc_1' }
const SERVER: ServerFacts = {
  name: 'mail.example.com:587',
  accountId: 'acc_1',
  apps: [APP],
  failing: null,
  outage: null,
  refused: null,
  waiting: 1_234,
}
const FACTS: AlertFacts = {
  at: 0,
  servers: [],
  brakes: [],
  disk: null,
  writeFault: null,
  isLocal: false,
  backup: { everyMs: null, since: 0, lastGood: null, lastFailed: null },
  refused: [],
  clocks: [],
}

const read = (changed: Partial<ServerFacts>) => {
  const [alert] = findConditions({ ...FACTS, servers: [{ ...SERVER, ...changed }] })
  if (!alert) throw new Error('no alert')
  return readServerAlert(alert)
}

test.each<[string, Partial<ServerFacts>, ReturnType<typeof read>]>([
  [
    'is gone',
    { failing: { reason: 'etimedout' } },
    { cause: 'The mail server did not respond in time.', isOfAll: true, isOfLogin: false, isWaiting: true },
  ],
  [
    'does not answer',
    { outage: { how: 'silent', reason: 'etimedout' }, waiting: 1 },
    {
      cause: 'It accepts connections, but stops responding while an email is being sent.',
      isOfAll: true,
      isOfLogin: true,
      isWaiting: true,
    },
  ],
  [
    'refuses everything for now',
    { outage: { how: 'refused', reason: 'smtp_452' }, waiting: 0 },
    {
      cause:
        'It asks Eventpost to send every email again later. The mailbox or the mail server was full (it replied 452).',
      isOfAll: true,
      isOfLogin: true,
      isWaiting: true,
    },
  ],
  [
    'does not confirm',
    { outage: { how: 'unconfirmed', reason: 'estream' } },
    {
      cause:
        "Emails are sent to it, but it doesn't respond. They may have arrived, so they become Unknown and aren't sent again, unless their message resends unconfirmed emails.",
      isOfAll: true,
      isOfLogin: true,
      isWaiting: false,
    },
  ],
  [
    'refuses the login of an app',
    { refused: { reason: 'eauth', apps: [APP] } },
    { cause: 'The mail server rejected the username and password.', isOfAll: false, isOfLogin: true, isWaiting: true },
  ],
])('the cause from the alert about a mail server that %s', (_, changed, found) => {
  expect(read(changed)).toEqual(found)
})

test('how long emails wait is what the app is set to', () => {
  const problem = { what: '', since: null, cause: null, isWaiting: true }
  const stuck = { count: 1, isSilent: true }
  expect(describeWait({ problem, stuck: null, giveUpHours: null })).toBe('Emails wait for up to 72 hours.')
  expect(describeWait({ problem, stuck, giveUpHours: 1 })).toBe('Emails wait for up to 1 hour. 1 is waiting now.')
  expect(describeWait({ problem, stuck: { ...stuck, count: 2 }, giveUpHours: 24 })).toBe(
    'Emails wait for up to 24 hours. 2 are waiting now.',
  )
  expect(describeWait({ problem: { ...problem, isWaiting: false }, stuck, giveUpHours: 24 })).toBe('')
})
