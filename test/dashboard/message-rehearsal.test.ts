/** What the page says of a rehearsal beside its lines (messages.md, Rehearsal). */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { batchWrite } from '../store/samples.ts'
import { type Editing, fieldsOf, openEditing } from './editing.ts'
import { expectHarmless, textOf } from './pages.ts'

const [MINUTE, DAY] = [60_000, 86_400_000]

let pages: Editing
let path: string
beforeEach(async () => {
  pages = await openEditing()
  path = pages.pathOf((await pages.draft()).id)
})
afterEach(() => pages.close())

const RESULT = { url: 'https://first.example/results/1', headline: 'Ready' }

const view = async (email: string, path: string): Promise<void> => {
  const at = pages.clock.now()
  const items = [{ type: 'page' as const, name: null, path, occurredAt: at }]
  await pages.store.recordBatch(
    batchWrite({ accountId: pages.begun.accountId, appId: pages.app.id, email, at, batchId: `${path}.${at}`, items }),
  )
}

/** Signed in anew, because days pass. */
async function rehearse(at = path): Promise<string> {
  const browser = await pages.signedIn()
  const { html } = await browser.get(at)
  return (await browser.post(at, { ...(await fieldsOf(html)), do: 'rehearse 7' })).html
}

test('who was judged by page views alone, because reports are kept for 48 hours', async () => {
  await pages.event({ email: 'bob@example.com', event: 'signed_up' })
  await view('bob@example.com', '/wait')
  pages.clock.ms += MINUTE
  await pages.event({ email: 'bob@example.com' })
  pages.clock.ms += 3_600_000
  const fresh = await rehearse()
  expect(await textOf(fresh, '#rehearsal > p.hint')).not.toContainEqual(expect.stringContaining('48 hours'))
  expect(await textOf(fresh, '.verdicts .hint')).toEqual([])
  pages.clock.ms += 3 * DAY
  const html = await rehearse()
  await expectHarmless(html)
  expect(await textOf(html, '#rehearsal > p.hint')).toContainEqual(
    expect.stringMatching(/^What browsers report of open pages is kept for 48 hours\. One of these is older, and was/),
  )
  expect(await textOf(html, '.verdicts .hint')).toContain(' By page views alone.')
})

test('who was never reported is under a heading of their own', async () => {
  const [, second] = await pages.messages()
  for (const email of ['a@example.com', 'b@example.com']) await pages.event({ email, properties: RESULT })
  pages.clock.ms += 2 * DAY
  const html = await rehearse(pages.pathOf(second?.id ?? 0))
  expect(await textOf(html, '.outcome > summary b')).toEqual(['Your pages had not reported them'])
  expect(await textOf(html, '.outcome > summary .hint')).toEqual([' 2, 100 %'])
  const why = 'Your pages had not reported a@example.com yet, and this message is not sent to such people.'
  expect(await textOf(html, '.outcome td > bdi')).toContain(why)
})

test('somebody for whom a mail waited, and was stopped, is not said to have got one', async () => {
  const email = 'bob@example.com'
  for (const _ of ['first', 'second']) {
    await pages.event({ email, properties: RESULT })
    pages.clock.ms += MINUTE
  }
  await view(email, '/results/1')
  pages.clock.ms += 3_600_000
  const html = await rehearse()
  expect(await textOf(html, '.outcome > summary b')).toEqual([
    'Had opened the results',
    'Had one waiting, or had got it',
  ])
  expect(await textOf(html, '.outcome td > bdi')).toContain(
    'bob@example.com had a mail of this message waiting, or had got it already.',
  )
})
