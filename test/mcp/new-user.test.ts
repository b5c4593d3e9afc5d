/** A new user's client: sets up an app and explains its email. */
import { expect, test } from 'bun:test'
import { createTestServer } from '../helper.ts'
import { joinFirst } from './client.ts'
import { connect } from './outside.ts'

test('a client sets an app up from nothing', async () => {
  const server = await createTestServer()
  await joinFirst(server)
  const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => server.send(request) })
  const client = await connect({
    url: `http://127.0.0.1:${listening.port}`,
    key: (await server.makeKey('manage')).apiKey,
  })
  const call = async (name: string, args: object = {}) => {
    const { structuredContent, isError } = await client.callTool({ name, arguments: { ...args } })
    expect([name, isError ?? false]).toEqual([name, false])
    return structuredContent as Record<string, unknown>
  }

  const { apps, key } = await call('get_key_info')
  const [{ id: app = '' } = {}] = apps as { id?: string }[]
  expect([app, key]).toMatchObject([server.first.appId, { scope: 'manage' }])
  expect(await call('get_setup_status', { app })).toMatchObject({
    state: 'waiting',
    message: 'Waiting for the first event...',
  })

  const { blocks } = await call('get_integration_code', { app, language: 'node' })
  expect(JSON.stringify(blocks)).toContain(app)
  const properties = { url: 'https://first.example/results/1', headline: 'Your 12 pictures are ready' }
  const event = { app, email: 'ada@example.com', event: 'results_ready', createContact: true, properties }
  expect(await call('send_event', { ...event, dryRun: true })).toMatchObject({ created: true, messages: [] })
  expect(await call('send_event', event)).toMatchObject({ created: true, messages: [] })
  expect(await call('list_events', { app })).toMatchObject({
    data: [{ event: 'results_ready', via: 'mcp', properties }],
  })
  expect(await call('get_setup_status', { app })).toMatchObject({ state: 'done', message: null })

  const message = {
    name: 'Your results',
    trigger: { event: 'results_ready' },
    wait: { minutes: 10 },
    onlyIf: [{ rule: 'notDone', event: 'results_opened' }],
    mail: { subject: '{{ event.headline }}', body: 'Hello,\n\n[see your results]({{ event.url }})' },
  }
  const { messageId } = await call('save_message_draft', { app, message })
  const { mail, problems, token } = await call('preview_message', { app, messageId })
  expect([mail, problems]).toMatchObject([
    { to: 'ada@example.com', subject: properties.headline, refusedLinks: [] },
    [],
  ])
  expect((mail as { text: string }).text).toContain(properties.url)
  server.clock.tick(11 * 60_000)
  expect(await call('simulate_message', { app, messageId })).toMatchObject({
    simulation: { triggered: 1, counts: { send: 1 } },
    data: [{ email: 'ada@example.com', outcome: 'send' }],
  })
  expect(await call('simulate_message', { app, messageId, email: 'ada@example.com' })).toMatchObject({
    data: [{ email: 'ada@example.com', why: expect.stringContaining('It would have been sent') }],
  })
  expect(await call('send_test_message', { app, messageId, to: 'first@owner.example' })).toMatchObject({
    outcome: 'kept',
  })

  await call('set_message_status', { app, messageId, status: 'live', token })
  const { messages } = await call('send_event', { ...event, email: 'bob@example.com' })
  expect(messages as unknown).toMatchObject([{ messageId, state: 'waiting' }])
  await call('send_event', { ...event, email: 'eve@example.com' })
  await call('send_event', { ...event, email: 'eve@example.com', event: 'results_opened' })
  server.clock.tick(10 * 60_000)
  await server.sender().sendDue()
  const explain = async (email: string) => (await call('explain_delivery', { app, messageId, email })).why as string
  expect(await explain('bob@example.com')).toBe(
    'It was captured on 15 May 2026, 12:21 UTC, because no mail server was set up.',
  )
  expect(await explain('eve@example.com')).toContain('results_opened arrived for eve@example.com')
  expect(await explain('ada@example.com')).toContain('The message went live later, on')
  expect(await call('list_deliveries', { app, state: 'sent' })).toMatchObject({ data: [] })
  expect(await call('list_deliveries', { app, state: 'kept' })).toMatchObject({
    data: [{ email: 'bob@example.com', sentAt: null }],
  })

  await client.close()
  await listening.stop(true)
  await server.close()
})
