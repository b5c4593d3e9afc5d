/** The way of a person who unsubscribes from one topic, by the link in its email. */
import { beforeEach, expect, test } from 'bun:test'
import { type Sending, useSharedSending } from '../../mail/sending.ts'
import { textOf } from '../pages.ts'

const ADA = 'ada@example.com'

const open = useSharedSending()
let sending: Sending
beforeEach(async () => {
  sending = await open({ again: { everyHours: 1 }, topic: 'Tips' })
  await sending.setSettings({ perPersonDay: null })
  const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
  const content = { trigger: { event: 'results_ready' }, mail: { subject: 'News', body: 'News' } }
  const other = { ...content, topic: 'News', again: { everyHours: 1 } }
  await sending.store().saveMessages({ ...by, drafts: [{ id: null, name: 'Other', status: 'live', content: other }] })
})

const get = (url: string) => sending.send(new Request(url))
const post = (url: string, fields: Record<string, string> = { 'List-Unsubscribe': 'One-Click' }) =>
  sending.send(new Request(url, { method: 'POST', body: new URLSearchParams(fields) }))
const titleOf = async (answer: Response) => [answer.status, (await textOf(await answer.text(), 'h1'))[0]]
const ended = async () => (await sending.store().listEndedTopics(sending.app.id, ADA)).map(({ topic }) => topic)
const undone = async (url: string) => {
  const [, title] = await titleOf(await post(url))
  return [title, await ended(), await statusOf()]
}
const statusOf = async () => (await sending.store().findContact(sending.app.id, ADA))?.status

/** What arrives an hour later, and the link in the email about a topic. */
async function sendAll(): Promise<{ subjects: string[]; linkOf: (subject: string) => string }> {
  const before = sending.server.received.length
  sending.clock.tick(2 * 3_600_000)
  await sending.sendEvent(ADA)
  await sending.sendDue()
  const mails = sending.server.received.slice(before).map(({ raw }) => {
    const unfolded = raw.replaceAll(/\r\n[ \t]+/g, ' ')
    const [, subject = ''] = /^Subject: (.*)\r$/m.exec(unfolded) ?? []
    const [, link = ''] = /^List-Unsubscribe: <(.*)>\r$/m.exec(unfolded) ?? []
    return { subject, link }
  })
  const subjects = mails.map(({ subject }) => subject).toSorted()
  return { subjects, linkOf: (wanted) => mails.find(({ subject }) => subject === wanted)?.link ?? '' }
}

const TIPS = 'Your results are ready.'

test('one click ends the topic of the email, and the page takes it back, or ends everything', async () => {
  const first = await sendAll()
  expect(first.subjects).toEqual(['News', TIPS])
  const url = first.linkOf(TIPS)
  expect(await titleOf(await get(url))).toEqual([200, 'Unsubscribe from Tips?'])
  expect(await ended()).toEqual([])

  for (let time = 0; time < 3; time++) {
    expect(await titleOf(await post(url))).toEqual([200, "You're unsubscribed from Tips"])
  }
  expect([await ended(), await statusOf()]).toEqual([['Tips'], 'subscribed'])
  expect((await sendAll()).subjects).toEqual(['News'])

  const again = await post(`${url}/undo`)
  expect(await titleOf(again.clone())).toEqual([200, "You're subscribed to Tips again"])
  const html = await again.text()
  expect(html).toContain(`action="${new URL(url).pathname}/topics"`)
  expect(await textOf(html, 'main form > .button')).toContain('Unsubscribe from Tips')
  expect((await sendAll()).subjects).toEqual(['News', TIPS])

  expect(await titleOf(await post(`${url}/all`))).toEqual([200, "You're unsubscribed"])
  expect(await (await get(url)).text()).toContain("won't send any more emails to a•••@example.com, except")
  expect([await ended(), await statusOf()]).toEqual([[], 'unsubscribed'])
  expect((await sendAll()).subjects).toEqual([])
  const everything = await (await post(`${url}/all/undo`)).clone().text()
  expect(await textOf(everything, 'h1, .lead')).toEqual([
    "You're subscribed again",
    'first will send a•••@example.com the emails you chose.',
  ])
  expect(await textOf(everything, 'main form > .button')).toContain('Unsubscribe from everything')
  expect(await statusOf()).toBe('subscribed')
})

test('undo takes back what that unsubscribe changed, and nothing else, however often it is repeated', async () => {
  const url = (await sendAll()).linkOf(TIPS)
  const undoOf = (html: string) => [...html.matchAll(/action="([^"]*undo)"/g)].map(([, action]) => action)
  await post(url)
  expect(undoOf(await (await get(url)).text())).toEqual([`${new URL(url).pathname}/undo`])
  sending.clock.tick(1)
  await post(`${url}/all`)
  expect(undoOf(await (await get(url)).text())).toEqual([`${new URL(url).pathname}/all/undo`])
  for (let time = 0; time < 3; time++) {
    expect(await undone(`${url}/all/undo`)).toEqual(["You're unsubscribed from Tips", ['Tips'], 'subscribed'])
  }
  sending.clock.tick(1)
  await post(`${url}/all`)
  for (let time = 0; time < 3; time++) {
    expect(await undone(`${url}/undo`)).toEqual(["You're unsubscribed", [], 'unsubscribed'])
  }
  expect(await undone(`${url}/all/undo`)).toEqual(["You're subscribed again", [], 'subscribed'])
})

test('the list of topics switches each on and off, and leaves out what it did not show', async () => {
  const url = (await sendAll()).linkOf('News')
  const { store, app } = sending
  const topics = await store().listTopics(app.id)
  const fields = async (on: string[]) => {
    const html = await (await get(url)).text()
    const shown = [...html.matchAll(/name="(top_\w+)\.shown"/g)].map(([, name = '']) => name)
    expect(shown).toHaveLength(2)
    const isOn = (name: string) => on.includes(topics.find(({ id }) => name.endsWith(id.toString(36)))?.name ?? '')
    return Object.fromEntries(shown.flatMap((name) => [[`${name}.shown`, '1'], ...(isOn(name) ? [[name, 'on']] : [])]))
  }
  expect(await titleOf(await post(`${url}/topics`, await fields(['News'])))).toEqual([200, 'Your choice is saved'])
  expect(await ended()).toEqual(['Tips'])
  await post(`${url}/topics`, await fields(['Tips']))
  expect(await ended()).toEqual(['News'])
  await post(`${url}/topics`, {})
  expect(await ended()).toEqual(['News'])
  expect((await sendAll()).subjects).toEqual([TIPS])
})

test('the link of a topic that was deleted ends everything', async () => {
  const url = (await sendAll()).linkOf(TIPS)
  const { store, app, clock } = sending
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  const [message] = (await store().listMessages(app.id)).filter(({ content }) => content.topic === 'Tips')
  if (!message) throw new Error('no message')
  const { topic: _, ...content } = message.content
  await store().saveMessages({ ...by, drafts: [{ ...message, content }] })
  const tips = await store().findTopicByName(app.id, 'Tips')
  expect(await store().deleteTopic({ ...by, id: tips?.id ?? 0 })).toEqual({ done: true })
  expect(await titleOf(await post(url))).toEqual([200, "You're unsubscribed"])
  expect(await statusOf()).toBe('unsubscribed')
})
