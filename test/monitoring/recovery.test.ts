/** A real mail server that goes and comes back; the clock is moved. */
import { expect, test } from 'bun:test'
import { type Doing, startMailServer } from '../mail/mail-server.ts'
import { useSending } from '../mail/sending.ts'
import { useClosing } from '../closing.ts'

const startSending = useSending()
const keep = useClosing()

/** Between two looks of the monitor. */
const LOOK_MS = 10_000

test('emails that waited for a mail server leave once it can be reached again', async () => {
  const sending = await startSending()
  const { clock, server } = sending
  const { monitor } = sending.parts()
  const look = async (): Promise<void> => {
    clock.tick(LOOK_MS)
    await monitor.check()
    await monitor.settle()
    await sending.sendDue()
  }
  await look()
  await server.stop()
  await sending.sendEvents(8)
  await sending.sendDue()
  // the pauses and the waits of emails get longer meanwhile
  for (let count = 0; count < 30; count++) await look()
  expect(await sending.findPause()).not.toBe(null)
  const back = await startMailServer({}, {}, server.port)
  keep({ close: () => back.stop() })
  await look()
  // the others wait a second for the first
  clock.tick(1_000)
  await sending.sendDue()
  expect(back.received).toHaveLength(8)
  expect(await sending.states()).toEqual({ sent: 8 })
})

test('owners who could not be told of an outage hear only of its end', async () => {
  const sending = await startSending()
  const { clock, server } = sending
  const { monitor, store } = sending.parts()
  const look = async (): Promise<void> => {
    clock.tick(LOOK_MS)
    await monitor.sendDue()
    await monitor.settle()
    await monitor.check()
    await monitor.settle()
    await sending.sendDue()
    await monitor.sendDue()
    await monitor.settle()
  }
  await look()
  await server.stop()
  await sending.sendEvents(4)
  for (let count = 0; count < 6; count++) await look()
  const [{ title } = { title: '' }] = await store.listAlerts()
  expect(title).toEndWith("can't be reached")
  const back = await startMailServer({}, {}, server.port)
  keep({ close: () => back.stop() })
  await look()
  // the others wait a second for the first
  clock.tick(1_000)
  await sending.sendDue()
  for (let count = 0; count < 6; count++) await look()
  expect(await store.listAlerts()).toMatchObject([{ title, resolvedAt: expect.any(Number) }])
  const subjects = back.received.flatMap(({ raw }) => /^Subject: (.*(?:\r\n .*)*)/m.exec(raw)?.[1] ?? [])
  expect(subjects.map((one) => one.replaceAll('\r\n', '')).filter((one) => /^(Problem|Resolved):/.test(one))).toEqual([
    `Resolved: ${title}`,
  ])
})

test('an outage that began before the server was gone for a moment goes on', async () => {
  const busy = { sender: (): Doing => 451 }
  const sending = await startSending({}, busy)
  const { clock, server } = sending
  const { monitor, store } = sending.parts()
  const look = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++) {
      clock.tick(LOOK_MS)
      await monitor.check()
      await monitor.settle()
      await sending.sendDue()
    }
  }
  await look(1)
  await sending.sendEvents(4)
  await look(8)
  const open = await store.listAlerts()
  expect(open).toMatchObject([{ title: expect.stringContaining('refuses'), resolvedAt: null }])
  await server.stop()
  await look(2)
  const back = await startMailServer(busy, {}, server.port)
  keep({ close: () => back.stop() })
  await look(8)
  expect(await store.listAlerts()).toMatchObject([{ id: open[0]?.id, resolvedAt: null }])
})
