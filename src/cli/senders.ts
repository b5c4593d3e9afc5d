import { getPublicSuffix } from 'tldts'
import { UsageError } from '../config.ts'
import { foldDomain } from '../core/domains.ts'
import { readEmail } from '../core/email.ts'
import { systemClock } from '../core/clock.ts'
import { changeSenders, createSenders, domainOf, listSenderEmails, type Senders } from '../accounts/senders.ts'
import { createTxtResolver } from '../mail/dns.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import {
  ACCOUNT,
  ANY_ACCOUNT,
  APP,
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  expectDone,
  findAccount,
  findAppOf,
  findChosenApp,
  type Given,
  installationOf,
  JSON_OUTPUT,
  listAppsOf,
  withStore,
} from './command.ts'

export const openSenders = async (store: Store, env: Environment): Promise<Senders> =>
  createSenders({
    store,
    clock: systemClock,
    resolveTxt: createTxtResolver(),
    installation: await installationOf(store, env),
  })

function readOne({ words }: Given, what: string, example: string): string {
  const [one, ...more] = words
  if (one === undefined || more.length > 0) throw new UsageError(`Specify one ${what}, such as ${example}.`)
  return one
}

function readAddress(given: Given): string {
  const email = readEmail(readOne(given, 'address', 'hello@example.com'))?.email
  if (email === undefined) throw new UsageError('Enter one email address, such as hello@example.com.')
  return email
}

function readDomain(given: Given): string {
  const domain = foldDomain(readOne(given, 'domain', 'example.com').toLowerCase())
  if (domain === null) throw new UsageError('Enter a domain, such as example.com.')
  if (getPublicSuffix(domain, { allowPrivateDomains: true }) === domain) {
    throw new UsageError(`${domain} is a public suffix. Enter a domain under it, such as your own.`)
  }
  return domain
}

export const senderList: Command = {
  name: 'sender list',
  summary: 'lists sender addresses, and DNS records to add for unverified domains',
  options: {
    ...DATA,
    ...ANY_ACCOUNT,
    ...JSON_OUTPUT,
    app: { type: 'string', value: 'ID', meaning: 'Only this app.', default: 'all apps' },
    check: { type: 'boolean', meaning: 'Looks up the DNS records first.' },
  },
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const senders = await openSenders(store, env)
      const appId = given.text('app')
      const apps = appId === undefined ? await listAppsOf(store, given) : [await findAppOf(store, given, appId)]
      const rows = apps.map((app) => listOf({ store, senders }, app, given.isSet('check')))
      return (await Promise.all(rows)).flat()
    }),
}

async function listOf({ store, senders }: { store: Store; senders: Senders }, app: AppRow, asksDns: boolean) {
  const settings = await store.mailSettings(app.id)
  const domains = await senders.listDomains(app, settings, { asksDns })
  const ofInstallation = senders.installation.from?.address
  return listSenderEmails(settings, senders.installation).map((address) => {
    const found = domains.find(({ domain }) => domain === domainOf(address) && address !== ofInstallation)
    return {
      account: app.accountId,
      app: app.publicId,
      address,
      isDefault: address === (settings.fromEmail ?? ofInstallation),
      domain: found?.state ?? 'installation',
      record: found?.record ? `${found.record.name} ${found.record.type} ${found.record.value}` : null,
    }
  })
}

export const senderAdd: Command = {
  name: 'sender add',
  words: 'ADDRESS',
  summary: 'adds a sender address to an app',
  options: {
    ...DATA,
    ...ANY_ACCOUNT,
    ...JSON_OUTPUT,
    ...APP,
    default: { type: 'boolean', meaning: 'Makes this address the default sender.' },
  },
  run: (given, env) => {
    const email = readAddress(given)
    return change(given, env, (store, app) =>
      changeSenders(store, app, { add: email, isDefault: given.isSet('default') }),
    )
  },
}

export const senderRemove: Command = {
  name: 'sender remove',
  words: 'ADDRESS',
  summary: 'removes a sender address that no message uses',
  options: { ...DATA, ...ANY_ACCOUNT, ...JSON_OUTPUT, ...APP },
  run: (given, env) => {
    const email = readAddress(given)
    return change(given, env, (store, app) => changeSenders(store, app, { remove: email }))
  },
}

type Change = (store: Store, app: AppRow) => ReturnType<typeof changeSenders>

const change = (given: Given, env: Environment, work: Change) =>
  withStore(given, env, { mayCreate: false }, async (store) => {
    const app = await findChosenApp(store, given)
    const changed = await work(store, app)
    if ('wrong' in changed) throw new CommandRefused(changed.wrong)
    const by = { accountId: app.accountId, appId: app.id, actor: 'cli', at: Date.now() }
    expectDone(await store.setMailSettings({ ...by, ...changed }))
    return listOf({ store, senders: await openSenders(store, env) }, app, false)
  })

export const senderBind: Command = {
  name: 'sender bind',
  words: 'DOMAIN',
  summary: 'reserves a domain for one account, without a DNS record',
  options: { ...DATA, ...ACCOUNT, ...JSON_OUTPUT },
  run: (given, env) => {
    const domain = readDomain(given)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      expectDone(await store.bindSenderDomain({ accountId, domain, proof: 'operator', actor: 'cli', at: Date.now() }))
      return { domain, accountId }
    })
  },
}

export const senderUnbind: Command = {
  name: 'sender unbind',
  words: 'DOMAIN',
  summary: 'removes a domain from an account, which can verify it again with a DNS record',
  options: { ...DATA, ...ACCOUNT, ...JSON_OUTPUT },
  run: (given, env) => {
    const domain = readDomain(given)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      const isBound = (await store.listSenderDomains()).some(
        (one) => one.accountId === accountId && one.domain === domain,
      )
      if (!isBound)
        throw new CommandRefused(`${domain} is not bound to ${accountId}. List domains with eventpost sender list.`)
      expectDone(await store.unbindSenderDomain({ accountId, domain, actor: 'cli', at: Date.now() }))
      return { domain, accountId }
    })
  },
}
