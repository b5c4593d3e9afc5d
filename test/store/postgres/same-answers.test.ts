/** Operations that the conformance tests do not reach: both engines must answer alike. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, BY, contactWrite, DAY, makeFolder, newAccount } from '../samples.ts'

const OPTIONS = { now: () => AT, rules: STORE_RULES }
const { folder, remove } = makeFolder()
let server: PostgresServer
let stores: Store[] = []
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  const postgres = await openPostgresStore({ url: server.url('postgres'), connections: 4, prepares: true }, OPTIONS)
  stores = [await openStore(folder, { ...OPTIONS, threads: false }), postgres]
}, 60_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await server?.stop()
  remove()
})

const app = { ...BY, appId: 1 }
const days = { from: 0, until: AT / DAY + 9 }
const mail = (body: string) => ({
  subject: 'Hi',
  body,
  category: 'lifecycle' as const,
  variants: { de: { subject: 'x', body: 'y' } },
})
const draft = (name: string, id: number | null = null) => ({
  id,
  name,
  status: 'live' as const,
  content: { trigger: { event: 'done' }, topic: 'News', mail: mail(name) },
})
const after = (message: string) => ({ ...draft('After'), content: { trigger: { message }, mail: mail('After') } })

const STEPS: ((store: Store) => Promise<unknown>)[] = [
  (store) => store.createAccount(newAccount()),
  (store) => store.saveMessages({ ...app, drafts: [draft('One')] }),
  (store) => store.saveMessages({ ...app, drafts: [after('One')] }),
  async (store) => {
    const id = (await store.findMessageByName(1, 'One'))?.id ?? 0
    return [
      await store.saveMessages({ ...app, drafts: [draft('Uno', id)] }),
      await store.listVersions(id, { before: null, limit: 9 }),
      await store.listVersionsById([{ messageId: id, version: 1 }]),
      await store.listStatusChanges([{ id, accountId: 'acc_1' }]),
      await store.readResults(id, days),
    ]
  },
  (store) => store.listMessages(1),
  (store) => store.listMailLanguages(1),
  (store) => store.listUsedTopics(1),
  (store) => store.saveTopic({ ...app, id: null, name: 'abc', description: null }),
  (store) => store.addContact(contactWrite({ fields: { plan: 'pro' }, tags: ['b', 'a'] })),
  async (store) => {
    const id = (await store.findContact(1, 'ada@example.com'))?.id ?? 0
    const [news] = await store.listTopics(1)
    return [
      await store.chooseTopics({ contactId: id, end: ['News', 'abc'], resume: [], actor: 'mem_1', at: AT + 1 }),
      await store.saveTopic({ ...app, id: news?.id ?? 0, name: 'Weekly', description: 'd' }),
      await store.listEndedTopics(1, 'ada@example.com'),
      await store.updateContact(contactWrite({ fields: { plan: 'free', n: 1.5 }, removeTags: ['a'], at: AT + 5 })),
      await store.listContactChanges(id, null, 9),
    ]
  },
  (store) => store.listUsedTopics(1),
  (store) => store.suppress({ appId: 1, email: 'ada@example.com', reason: 'unsubscribed', at: AT + 6 }),
  (store) => store.suppress({ appId: 1, email: 'ada@example.com', reason: 'bounced', at: AT + 7 }),
  async (store) =>
    (await store.listSuppressions({ appId: 1, reason: null, before: null, limit: 9 })).map(
      ({ emailHash: _, ...row }) => row,
    ),
  (store) => store.countSuppressions({ appId: 1, reason: null, start: 'ada' }, 9),
  (store) => store.unsuppress({ appId: 1, email: 'ada@example.com', at: AT + 8 }),
  (store) => store.saveSuppressionSync({ ...app, sync: { provider: 'p', added: 1, known: 2, unread: 3, fault: null } }),
  (store) => store.findSuppressionSync(1),
  (store) => store.readAppResults(1, days),
  (store) => store.countProblems(1, days, ['template']),
  (store) => store.countDeferred(1, ['brake']),
  (store) => store.hasSentEmail(1),
  (store) =>
    store.setMailSettings({ ...app, settings: { complaintLimit: 0.25, fromEmail: 'a@x.example', optIn: null } }),
  (store) => store.mailSettings(1),
  (store) => store.addNotes([{ appId: 1, kind: 'old_secret', count: 2, lastAt: AT, reason: 'a', origin: null }]),
  (store) => store.addNotes([{ appId: 1, kind: 'old_secret', count: 3, lastAt: AT - 1, reason: 'b', origin: 'o' }]),
  (store) => store.listNotes(1),
  (store) => store.listOwners('acc_1'),
  (store) => store.claimSummary({ membershipId: 'own_1', from: null, to: AT }),
  (store) => store.claimSummary({ membershipId: 'own_1', from: null, to: AT }),
  (store) => store.saveDomainCheck({ appId: 1, domain: 'd', sender: '{}', checks: '[]', checkedAt: AT }),
  (store) => store.findDomainCheck(1, 'd'),
  (store) => store.saveReceivedMail({ appId: 1, domain: 'd', seen: '{}', seenAt: AT }),
  (store) => store.listReceivedMails(1),
  (store) => store.bindSenderDomain({ ...BY, domain: 'd', proof: 'dkim' }),
  (store) => store.senderFacts('acc_1'),
  (store) => store.touch({}),
  (store) => store.touch({}),
  (store) => store.installValue('touched'),
  (store) => store.checkBrakes({ at: AT }),
  (store) => store.releaseBrake({ ...BY, appId: 1 }),
  (store) => store.runSchedules({ at: AT }),
  (store) => store.hasScheduledWork(AT),
  (store) =>
    store.saveLimitWaits({
      waits: [
        { appId: 1, from: 1, until: 2 },
        { appId: 1, from: 1, until: 3 },
      ],
    }),
  (store) => store.summarizeQueue(AT),
  (store) => store.countRefusals(0),
  (store) => store.findNewestTime(),
  (store) => store.listBackups(9),
  (store) => store.cleanUp({ at: AT + 400 * DAY }),
]

test('both engines answer alike', async () => {
  for (const [index, step] of STEPS.entries()) {
    const [one, other] = [await step(stores[0] as Store), await step(stores[1] as Store)]
    expect([index, String(step), other]).toEqual([index, String(step), one])
    expect(JSON.stringify(other) ?? '').not.toContain('internal_error')
  }
}, 60_000)
