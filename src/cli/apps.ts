import { UsageError } from '../config.ts'
import { createApp } from '../accounts/accounts.ts'
import { readAccountInput } from '../accounts/account-input.ts'
import { readTypedHost } from '../accounts/app-hosts.ts'
import {
  ACCOUNT,
  type Command,
  DATA,
  expectDone,
  findAccount,
  type Given,
  JSON_OUTPUT,
  type Options,
  required,
  toIso,
  withStore,
} from './command.ts'

export const APP_ADDRESSES: Options = {
  domain: { type: 'string', value: 'HOST', multiple: true, meaning: 'A domain of the app. Repeat for more.' },
  home: { type: 'string', value: 'URL', meaning: 'Home page of the app.', default: 'https:// and the first domain' },
}

export const appCreate: Command = {
  name: 'app create',
  summary: 'creates another app; prints appId and siteId',
  options: {
    ...DATA,
    ...ACCOUNT,
    ...JSON_OUTPUT,
    name: { type: 'string', value: 'NAME', meaning: 'Name of the app.', isRequired: true },
    ...APP_ADDRESSES,
    'snippet-host': {
      type: 'string',
      value: 'HOST',
      multiple: true,
      meaning: 'A host whose pages can report. Repeat for more.',
      default: 'any',
    },
    'snippet-adds-people': { type: 'boolean', meaning: 'Lets reports from pages add unknown people.' },
  },
  run: async (given, env) => {
    const text = { appName: required(given, 'name'), domains: given.all('domain'), home: given.text('home') ?? null }
    const reading = readAccountInput({ ...text, email: 'owner@example.com' })
    if ('errors' in reading) throw new UsageError(reading.errors.map(({ message }) => message).join(' '))
    const { appName: name, domains, home } = reading.input
    const snippet = { hosts: readSnippetHosts(given), addsPeople: given.isSet('snippet-adds-people') }
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      return expectDone(
        await createApp({ store, now: Date.now(), actor: 'cli' }, accountId, { name, domains, home, snippet }),
      )
    })
  },
}

function readSnippetHosts(given: Given): string[] {
  const hosts = given.all('snippet-host').map((host) => readTypedHost(host))
  if (hosts.includes(null)) throw new UsageError('--snippet-host: Enter your own hosts, such as app.example.com.')
  return [...new Set(hosts.filter((host) => host !== null))]
}

export const appList: Command = {
  name: 'app list',
  summary: 'lists the apps with their appId and siteId, oldest first',
  options: { ...DATA, ...ACCOUNT, ...JSON_OUTPUT },
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => {
      const apps = await store.listApps(await findAccount(store, given))
      return apps.map(({ publicId, siteId, name, hosts, homeUrl, createdAt }) => ({
        appId: publicId,
        siteId,
        name,
        domains: hosts,
        home: homeUrl,
        createdAt: toIso(createdAt),
      }))
    }),
}
