import { readActivation } from '../../events/activation.ts'
import type { AppRow } from '../../accounts/access.ts'
import { siteOrigin } from '../../accounts/app-settings.ts'
import { UNREADABLE_SERVER } from '../../accounts/mail-server.ts'
import { browserSamples, SECRETS_WARNING, serverSamples } from '../../docs/samples.ts'
import { findUnknown } from '../../http/queries.ts'
import { isRefusal, refuseFields } from '../../core/refusals.ts'
import { describeLostUrl, isLinkUnreachable } from '../../people/unsubscribe.ts'
import { listSenderEmails } from '../../accounts/senders.ts'
import { makeSnippetPolicy, makeSnippetTags } from '../../visits/snippet-tag.ts'
import { readNewPeople } from '../../events/stats.ts'
import { peekForKey } from '../../accounts/write-limits.ts'
import { type LimitedWrite } from '../../accounts/plans.ts'
import { createArguments, findAsked, withoutNulls } from '../arguments.ts'
import { takeWithin, PAGE_BYTES } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanValue } from '../untrusted.ts'
import { APP, oneOf, takes, type Tool, type ToolDependencies } from './tool.ts'

const LANGUAGES = ['curl', 'node', 'bun', 'python', 'php', 'ruby', 'go', 'nextjs']
const TAGS = new Map([
  ['tag', 'plain'],
  ['tag-consent', 'consent'],
  ['tag-pinned', 'pinned'],
])
const KINDS = [...LANGUAGES, ...TAGS.keys()]

export const getKeyInfo: Tool = {
  name: 'get_key_info',
  title: 'Key and apps',
  description: 'Start here: the key, its apps and limits.',
  kind: 'read',
  input: takes({}),
  run: async (deps, caller, args, known) => {
    const errors = findUnknown(withoutNulls(args), known)
    return errors.length > 0 ? refuseFields(errors) : readKeyInfo(deps, caller)
  },
}

const REST_BYTES = 2 * 1024

async function readKeyInfo(deps: ToolDependencies, { access }: Caller) {
  const { id, name, scope } = access.key
  const writes: LimitedWrite[] = ['events', 'contactAdds', 'contactUpdates']
  const apps = access.apps.map((app) => ({
    id: app.publicId,
    name: app.name,
    siteId: app.siteId,
    homeUrl: app.homeUrl,
    hosts: app.hosts,
  }))
  const shown = takeWithin(cleanValue(apps), PAGE_BYTES - REST_BYTES)
  const limits = writes.map((what) => {
    const { limit, taken } = peekForKey(deps, what, access)
    return limit.max === Infinity
      ? { what, limit: null, remaining: null }
      : { what, limit: limit.max, remaining: taken.remaining }
  })
  return {
    ok: true,
    key: cleanValue({ id, name, scope }),
    apps: shown,
    ...(shown.length < apps.length ? { omitted: { apps: apps.length - shown.length } } : {}),
    limits,
    newPeople: await readNewPeople(deps, access),
  }
}

const ONE_APP = takes({ app: APP })
const readApp = createArguments({ schema: ONE_APP, clean: () => ({}) })

export const getSetupStatus: Tool = {
  name: 'get_setup_status',
  title: 'Setup status',
  description: 'What is left to set up, and recent errors.',
  kind: 'read',
  input: ONE_APP,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readApp(args, null))
    return isRefusal(asked) ? asked : readSetup(deps, asked.app)
  },
}

export async function readSetup(deps: ToolDependencies, app: AppRow) {
  const { state, message, lastEventAt, lastNamedAt: _, lastViewAt: __, ...noted } = await readActivation(deps, app)
  const counts = Object.entries(noted).map(([name, one]) => [name, one && { ...one, lastAt: iso(one.lastAt) }])
  return {
    ok: true,
    app: app.publicId,
    state,
    message,
    lastEventAt: lastEventAt === null ? null : iso(lastEventAt),
    counts: cleanValue(Object.fromEntries(counts)),
    sender: cleanValue(await readSender(deps, app)),
    problems: cleanValue(await listProblems(deps, app)),
  }
}

/** What keeps emails from being sent, or people from unsubscribing. */
async function listProblems({ store, mailer, baseUrl }: ToolDependencies, app: AppRow): Promise<string[]> {
  const settings = await store.mailSettings(app.id)
  const { server, isUnreadable } = mailer.findMailRoute({ settings, app })
  const problem = await mailer.senders.findProblem({ app, mail: {}, settings }, { asksDns: false })
  const problems = problem ? [problem.message] : []
  if (isUnreadable) return [...problems, UNREADABLE_SERVER]
  if (server === null) return [...problems, 'No mail server yet. Emails are captured, not sent.']
  return isLinkUnreachable(baseUrl) ? [...problems, `${describeLostUrl(baseUrl)} ${SET_ADDRESS}`] : problems
}

const SET_ADDRESS = 'Set the public address in EVENTPOST_BASE_URL or with --base-url.'

const SENDER_BYTES = 6 * 1024

/** The sender, with the DNS records to add. */
async function readSender({ store, mailer }: ToolDependencies, app: AppRow) {
  const settings = await store.mailSettings(app.id)
  const { senders } = mailer
  const domains = await senders.listDomains(app, settings)
  return {
    from: settings.fromEmail ?? senders.installation.from?.address ?? null,
    addresses: takeWithin(listSenderEmails(settings, senders.installation), SENDER_BYTES),
    unverified: takeWithin(
      domains.flatMap(({ domain, record }) => (record ? [{ domain, record }] : [])),
      SENDER_BYTES,
    ),
  }
}

const iso = (at: number): string => new Date(at).toISOString()

const CODE = takes({ app: APP, language: oneOf(KINDS, { invalid: `Send one of ${KINDS.join(', ')}.` }) })
const readLanguage = createArguments({ schema: CODE, clean: ({ language }) => ({ language }) })

export const getIntegrationCode: Tool = {
  name: 'get_integration_code',
  title: 'Integration code',
  description: 'Server code, or the script tag with CSP.',
  kind: 'read',
  input: CODE,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readLanguage(args, null))
    if (isRefusal(asked)) return asked
    const { language } = asked.input
    return { ok: true, language, ...readCode(deps, asked.app, language), warning: SECRETS_WARNING }
  },
}

function readCode({ baseUrl, snippet }: ToolDependencies, app: AppRow, language: string) {
  const form = TAGS.get(language)
  const source = { baseUrl, siteId: app.siteId, ...snippet }
  const values = { baseUrl, appId: app.publicId, homeUrl: siteOrigin(app) }
  const all = form === undefined ? serverSamples(values) : browserSamples(makeSnippetTags(source))
  const blocks = all.find(({ id }) => id === (form ?? language))?.blocks ?? []
  return { blocks, policy: form === undefined ? null : makeSnippetPolicy(source) }
}
