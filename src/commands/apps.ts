import { UsageError } from '../config.ts'
import { createApp } from '../core/accounts.ts'
import { readBeginning } from '../core/beginnings.ts'
import { readSnippetHosts } from '../core/snippet-settings.ts'
import { ACCOUNT, type Command, DATA, expectDone, findAccount, JSON_OUTPUT, required, withStore } from './command.ts'

export const appCreate: Command = {
  name: 'app create',
  summary: 'makes a further app; prints appId and siteId',
  options: {
    ...DATA,
    ...ACCOUNT,
    ...JSON_OUTPUT,
    name: { type: 'string', value: 'NAME', meaning: 'name of the app' },
    domain: { type: 'string', value: 'HOST', multiple: true, meaning: "the app's own domain; may be repeated" },
    home: { type: 'string', value: 'URL', meaning: 'its home page (default: https:// and the first domain)' },
    'snippet-host': {
      type: 'string',
      value: 'HOST',
      multiple: true,
      meaning: 'host whose pages may report; may be repeated (default: any)',
    },
    'snippet-adds-people': { type: 'boolean', meaning: 'adds people whom a page reports and the app does not know' },
  },
  run: async (given, env) => {
    const text = { appName: required(given, 'name'), domains: given.all('domain'), home: given.text('home') ?? null }
    const reading = readBeginning({ ...text, email: 'owner@example.com' })
    if ('errors' in reading) throw new UsageError(reading.errors.map(({ message }) => message).join(' '))
    const { appName: name, domains, home } = reading.input
    const snippetHosts = readSnippetHosts(given.all('snippet-host'))
    if ('refusal' in snippetHosts) throw new UsageError(`--snippet-host: ${snippetHosts.message}`)
    const snippet = { hosts: snippetHosts.hosts, addsPeople: given.isSet('snippet-adds-people') }
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      return expectDone(
        await createApp({ store, now: Date.now(), actor: 'cli' }, accountId, { name, domains, home, snippet }),
      )
    })
  },
}
