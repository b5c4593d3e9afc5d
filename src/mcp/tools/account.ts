import { Type } from '@sinclair/typebox'
import { readActivation } from '../../core/activation.ts'
import type { AppRow } from '../../core/access.ts'
import { integrationCode, SECRETS_WARNING } from '../../core/integration/index.ts'
import type { Parts } from '../../core/parts.ts'
import { refuseUnknown } from '../../core/queries.ts'
import { isRefusal, refuseFields, type FieldError } from '../../core/refusals.ts'
import { readNewPeople } from '../../core/stats.ts'
import { type LimitedWrite, peekForKey } from '../../core/write-limits.ts'
import { findAsked, readAbout, toQuery } from '../arguments.ts'
import { takeFitting, PAGE_BYTES } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanValue } from '../untrusted.ts'
import { APP, gives, record, records, takes, text, textOrNull, type Tool } from './tool.ts'

const LANGUAGES = ['curl', 'node', 'bun', 'python', 'php', 'ruby', 'go', 'nextjs'] as const

export const getKeyInfo: Tool = {
  name: 'get_key_info',
  title: 'What this key may do',
  description: 'The key, the apps it reaches with their IDs, and what is left of its hourly limits. Begin here.',
  kind: 'read',
  input: takes({}),
  output: gives({
    key: record('id, name, scope'),
    apps: records('id, name, siteId, homeUrl, hosts'),
    limits: records('what, limit, remaining; null = unlimited'),
    newPeople: record('month, count, limit'),
  }),
  run: async (parts, caller, args) => {
    const errors: FieldError[] = []
    refuseUnknown(toQuery(args), new Set(), errors)
    return errors.length > 0 ? refuseFields(errors) : readKeyInfo(parts, caller)
  },
}

async function readKeyInfo(parts: Parts, { access }: Caller) {
  const { id, name, scope } = access.key
  const writes: LimitedWrite[] = ['events', 'contactAdds', 'contactUpdates']
  const apps = access.apps.map((app) => ({
    id: app.publicId,
    name: app.name,
    siteId: app.siteId,
    homeUrl: app.homeUrl,
    hosts: app.hosts,
  }))
  const limits = writes.map((what) => {
    const { limit, taken } = peekForKey(parts, what, access)
    return limit.max === Infinity
      ? { what, limit: null, remaining: null }
      : { what, limit: limit.max, remaining: taken.remaining }
  })
  return {
    ok: true,
    key: cleanValue({ id, name, scope }),
    apps: takeFitting(cleanValue(apps), PAGE_BYTES / 2),
    limits,
    newPeople: await readNewPeople(parts, access),
  }
}

export const getSetupStatus: Tool = {
  name: 'get_setup_status',
  title: 'How far an app is set up',
  description:
    'What is still to be done until events of people arrive, and what went wrong on the way: failed signatures, unknown people, events without an email.',
  kind: 'read',
  input: takes({ app: APP }),
  output: gives({
    app: text(),
    state: Type.Unsafe<string>({ enum: ['waiting', 'without-email', 'done'] }),
    message: textOrNull('what to do next; null = nothing'),
    lastEventAt: textOrNull(),
    counts: record('of each thing noted: count, lastAt, reason, origin'),
  }),
  run: async (parts, { access }, args) => {
    const asked = findAsked(
      access,
      readAbout(args, [], () => ({})),
    )
    return isRefusal(asked) ? asked : readSetup(parts, asked.app)
  },
}

/** The same for the tool and for the resource; it holds nothing about people (spec 3.4). */
export async function readSetup(parts: Parts, app: AppRow) {
  const { state, message, lastEventAt, lastViewAt: _, ...noted } = await readActivation(parts, app)
  const counts = Object.entries(noted).map(([name, one]) => [name, one && { ...one, lastAt: iso(one.lastAt) }])
  return {
    ok: true,
    app: app.publicId,
    state,
    message,
    lastEventAt: lastEventAt === null ? null : iso(lastEventAt),
    counts: cleanValue(Object.fromEntries(counts)),
  }
}

const iso = (at: number): string => new Date(at).toISOString()

export const getIntegrationCode: Tool = {
  name: 'get_integration_code',
  title: 'Code that sends events',
  description:
    'Code to paste into the server of the app, as on the Activation screen: it sends an event and signs an email. It reads the key and the secret from the environment; never write them into it.',
  kind: 'read',
  input: takes({ app: APP, language: Type.Unsafe<string>({ enum: [...LANGUAGES] }) }),
  output: gives({ language: text(), blocks: records('label, code'), warning: text() }),
  run: ({ baseUrl }, { access }, args) => {
    const asked = findAsked(
      access,
      readAbout(args, ['language'], ({ language }, errors) => {
        if (!LANGUAGES.some((one) => one === language)) errors.push({ field: 'language', ...WHICH })
        return { language }
      }),
    )
    if (isRefusal(asked)) return asked
    const { language } = asked.input
    const code = integrationCode(baseUrl, asked.app).find(({ id }) => id === language)
    return { ok: true, language, blocks: code?.blocks ?? [], warning: SECRETS_WARNING }
  },
}

const WHICH = { code: 'invalid', message: `Send one of ${LANGUAGES.join(', ')}.` }
