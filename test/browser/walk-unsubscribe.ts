/** Walks through the pages behind the links of emails. */
import type { Page } from 'playwright-core'
import { makeConfirmToken } from '../../src/people/consent.ts'
import { makeUnsubscribeToken, TEST_TOKEN } from '../../src/people/unsubscribe.ts'
import { DAY } from '../helper.ts'
import { contactWrite } from '../store/samples.ts'
import type { Served } from './chromium.ts'

type Step = { name: string; isOpen?: true; go(page: Page, server: Served): Promise<unknown> }

async function linkOf({ parts, first, url }: Served, email: string): Promise<string> {
  const { store, unsubscribeKey } = parts()
  const app = await store.findAppByPublicId(first.appId)
  const contact = app && (await store.findContact(app.id, email))
  return `${url}/u/${makeUnsubscribeToken(unsubscribeKey, { contactId: contact?.id ?? 0, topicId: null })}`
}

/** A person who is asked to confirm their address, and the link. */
async function linkOfPending(server: Served, email: string, days: number): Promise<string> {
  const { parts, first, url, clock } = server
  const { store, unsubscribeKey } = parts()
  const app = await store.findAppByPublicId(first.appId)
  const by = { accountId: first.accountId, appId: app?.id ?? 0, actor: 'test', at: clock.now() }
  const texts = { subject: null, body: null, button: null }
  await store.setMailSettings({ ...by, settings: { optIn: { isOn: true, days: null, storesIp: false, ...texts } } })
  // keys are revoked by now
  const { actor: _, ...write } = by
  await store.addContact(contactWrite({ ...write, email, asksConsent: 'api' }))
  const contact = app && (await store.findContact(app.id, email))
  const [consent] = await store.listConsents(contact?.id ?? 0)
  const link = { consentId: consent?.id ?? 0, expiresAt: clock.now() + days * DAY }
  return `${url}/confirm/${makeConfirmToken(unsubscribeKey, link)}`
}

/** The link of an email about one of two topics. */
export async function linkOfTopic({ parts, first, url, clock }: Served, email: string): Promise<string> {
  const { store, unsubscribeKey } = parts()
  const app = await store.findAppByPublicId(first.appId)
  const appId = app?.id ?? 0
  const by = { accountId: first.accountId, appId, actor: 'test', at: clock.now() }
  await store.saveTopic({ ...by, id: null, name: 'Tips', description: 'One thing to try, once a week' })
  const drafts = ['Tips', 'Product news'].map((topic) => ({
    id: null,
    name: `About ${topic}`,
    status: 'paused' as const,
    content: { trigger: { event: 'topic_walk' }, topic, mail: { subject: 'S', body: 'B' } },
  }))
  await store.saveMessages({ ...by, drafts })
  const [contact, topic] = await Promise.all([store.findContact(appId, email), store.findTopicByName(appId, 'Tips')])
  const link = { contactId: contact?.id ?? 0, topicId: topic?.id ?? null }
  return `${url}/u/${makeUnsubscribeToken(unsubscribeKey, link)}`
}

export const TOPIC_STEPS: Step[] = [
  {
    name: 'unsubscribe-topic',
    isOpen: true,
    go: async (page, server) => page.goto(await linkOfTopic(server, 'grete@example.com')),
  },
  { name: 'unsubscribe-topic-done', isOpen: true, go: (page) => page.click('main .primary') },
  { name: 'unsubscribe-topic-chosen', isOpen: true, go: (page) => page.click('main #topics .button') },
  {
    name: 'person-topics',
    go: async (page, { url, first }) => {
      await page.goto(`${url}/apps/${first.appId}/people`)
      await page.fill('#search', 'grete@example.com')
      await page.click('.finder > button')
    },
  },
  { name: 'sender-topics', go: (page, { url, first }) => page.goto(`${url}/apps/${first.appId}/sender/topics`) },
  { name: 'sender-topic', go: (page) => page.click('tbody a >> nth=0') },
]

export const CONFIRM_STEPS: Step[] = [
  {
    name: 'confirm',
    isOpen: true,
    go: async (page, server) => page.goto(await linkOfPending(server, 'asked@example.com', 7)),
  },
  { name: 'confirm-done', isOpen: true, go: (page) => page.click('main .primary') },
  {
    name: 'confirm-expired',
    isOpen: true,
    go: async (page, server) => page.goto(await linkOfPending(server, 'late@example.com', -1)),
  },
  { name: 'confirm-again', isOpen: true, go: (page) => page.click('main .primary') },
  {
    name: 'person-pending',
    go: async (page, { url, first }) => {
      await page.goto(`${url}/apps/${first.appId}/people`)
      await page.fill('#search', 'late@example.com')
      await page.click('.finder > button')
    },
  },
  { name: 'person-new-asked', go: (page, { url, first }) => page.goto(`${url}/apps/${first.appId}/people/new`) },
  { name: 'sender-opt-in', go: (page, { url, first }) => page.goto(`${url}/apps/${first.appId}/sender/opt-in`) },
]

export const UNSUBSCRIBE_STEPS: Step[] = [
  {
    name: 'unsubscribe',
    isOpen: true,
    go: async (page, server) => page.goto(await linkOf(server, 'hedy@example.com')),
  },
  { name: 'unsubscribe-done', isOpen: true, go: (page) => page.click('main .primary') },
  { name: 'unsubscribe-undone', isOpen: true, go: (page) => page.click('main form .button') },
  { name: 'unsubscribe-test', isOpen: true, go: (page, { url }) => page.goto(`${url}/u/${TEST_TOKEN}`) },
  { name: 'unsubscribe-unknown', isOpen: true, go: (page, { url }) => page.goto(`${url}/u/nothing`) },
]
