/**
 * `bun run demo`: a customer's site that uses Eventpost. With nothing given it starts an Eventpost of its own in a
 * temporary folder; else it takes where yours is, and what `init` printed:
 *
 *     SERVICE_API_KEY=mc_... SERVICE_IDENTITY_SECRET=is_... bun run demo --url http://127.0.0.1:8080 --app APP --site SITE
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeSnippetTag } from '../../src/visits/snippet-tag.ts'
import { type Begun, eventpostJson, makeFolder, startServer } from '../cli/process.ts'
import type { Eventpost } from './eventpost.ts'
import { startSite } from './site.ts'

const ROOT = join(import.meta.dir, '../..')
const PORT = '4000'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env.SERVICE_URL },
    app: { type: 'string', default: process.env.SERVICE_APP_ID },
    site: { type: 'string', default: process.env.SERVICE_SITE_ID },
    port: { type: 'string', default: PORT },
  },
})

type Used = { eventpost: Eventpost; signInUrl?: string; stop(): Promise<void> }

/** The one that was named. Null where nothing was. */
function findEventpost(): Used | null {
  const { SERVICE_API_KEY: apiKey, SERVICE_IDENTITY_SECRET: identitySecret } = process.env
  const { url, app: appId, site: siteId } = values
  const given = [url, appId, siteId, apiKey, identitySecret]
  if (given.every((one) => !one)) return null
  if (!url || !appId || !siteId || !apiKey || !identitySecret) {
    console.error('Give all of --url, --app, --site, SERVICE_API_KEY and SERVICE_IDENTITY_SECRET, or none of them.')
    process.exit(2)
  }
  return { eventpost: { url, appId, siteId, apiKey, identitySecret }, stop: async () => undefined }
}

/** One of the demo's own, gone with everything in it when the demo ends. */
async function startEventpost(): Promise<Used> {
  const { folder: data, remove } = makeFolder()
  const owner = ['--email', 'you@example.com', '--app', 'Picture Studio', '--domain', 'localhost']
  const begun = await eventpostJson<Begun>(['init', '--data', data, ...owner])
  const server = await startServer({ data, timeoutMs: 0 })
  const { pathname, search } = new URL(begun.signInUrl)
  return {
    eventpost: { ...begun, url: server.url },
    signInUrl: server.url + pathname + search,
    async stop() {
      await server.stop()
      remove()
    },
  }
}

const { eventpost, signInUrl, stop } = findEventpost() ?? (await startEventpost())
const stub = readFileSync(join(ROOT, 'dist/assets/stub.js'), 'utf8')
const tag = makeSnippetTag({ baseUrl: eventpost.url, siteId: eventpost.siteId, stub, requiresConsent: true })
const site = startSite({ eventpost, tag, port: Number(values.port) })

console.log(`the customer's site  ${site.url}`)
console.log(`Eventpost            ${signInUrl ?? eventpost.url}`)
console.log(`what arrived         ${eventpost.url}/api/v1/events?app=${eventpost.appId}`)
if (signInUrl) console.log(`with the header      Authorization: Bearer ${eventpost.apiKey}`)
console.log(`its tag, to paste    ${tag.replaceAll('\n', `\n${' '.repeat(21)}`)}`)
console.log(`which sends nothing  before service('identify', { email, signature }) and service('consent', true)`)
console.log(`the signature        HMAC-SHA256 in hex of the trimmed, lowercased email, by the server of the site`)
// of an Eventpost that was named, whoever started this has the secret already
console.log(`its secret           ${signInUrl ? eventpost.identitySecret : 'SERVICE_IDENTITY_SECRET'}`)
console.log(
  `unknown people       are added by an event with createContact, by page views only where Settings allows it`,
)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await site.stop()
    await stop()
    process.exit(0)
  })
}
