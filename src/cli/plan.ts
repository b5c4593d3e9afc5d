import { UsageError } from '../config.ts'
import type { Plan } from '../accounts/accounts.ts'
import { effectivePlan, LIFTED_RATE } from '../accounts/plans.ts'
import { formatLimit, readWholeNumber } from '../core/count.ts'
import type { Store } from '../store/store.ts'
import {
  ACCOUNT,
  type Command,
  DATA,
  expectDone,
  findAccount,
  type Given,
  JSON_OUTPUT,
  type Options,
  withStore,
} from './command.ts'

const RATES = {
  'events-per-hour': 'eventsPerHour',
  'adds-per-hour': 'addsPerHour',
  'updates-per-hour': 'updatesPerHour',
  'mcp-calls-per-minute': 'mcpCallsPerMinute',
} as const satisfies Record<string, keyof Plan>

const MOST = LIFTED_RATE - 1

const rate = (meaning: string): Options[string] => ({
  type: 'string',
  value: 'NUMBER',
  meaning: `${meaning}: 1 to ${formatLimit(MOST)}, or \`default\` or \`unlimited\`.`,
})

type Words = Record<string, number | null>

const PEOPLE_WORDS: Words = { default: null, unlimited: null }
const RATE_WORDS: Words = { default: null, unlimited: LIFTED_RATE }

/** `least` is 0 where zero has a meaning: no new people. To stop a key, revoke it. */
function readCount(option: string, text: string, words: Words, least: 0 | 1): number | null {
  const meant = Object.hasOwn(words, text) ? words[text] : undefined
  if (meant !== undefined) return meant
  const count = readWholeNumber(text)
  if (!(count >= least && count <= MOST)) {
    const listed = Object.keys(words)
      .map((word) => `\`${word}\``)
      .join(' or ')
    throw new UsageError(`--${option} takes a number from ${least} to ${formatLimit(MOST)}, or ${listed}.`)
  }
  return count
}

function readChanges(given: Given): Partial<Plan> {
  const plan: Partial<Plan> = {}
  const people = given.text('new-people-per-month')
  if (people !== undefined) plan.newPeoplePerMonth = readCount('new-people-per-month', people, PEOPLE_WORDS, 0)
  for (const [option, field] of Object.entries(RATES)) {
    const text = given.text(option)
    if (text !== undefined) plan[field] = readCount(option, text, RATE_WORDS, 1)
  }
  const snippet = given.text('snippet-limits')
  if (snippet !== undefined && snippet !== 'on' && snippet !== 'off')
    throw new UsageError('--snippet-limits takes on or off.')
  if (snippet !== undefined) plan.snippetLimits = snippet === 'on'
  if (Object.keys(plan).length === 0)
    throw new UsageError('Specify a limit to change, such as --new-people-per-month 1000.')
  return plan
}

async function readPlan(store: Store, accountId: string) {
  const account = await store.findAccount(accountId)
  return { accountId, ...(account && effectivePlan(account.plan)) }
}

export const planShow: Command = {
  name: 'plan show',
  summary: "prints an account's plan, including defaults",
  options: { ...DATA, ...ACCOUNT, ...JSON_OUTPUT },
  run: (given, env) =>
    withStore(given, env, { mayCreate: false }, async (store) => readPlan(store, await findAccount(store, given))),
}

export const planSet: Command = {
  name: 'plan set',
  summary: "changes an account's plan and prints it",
  options: {
    ...DATA,
    ...ACCOUNT,
    ...JSON_OUTPUT,
    'new-people-per-month': {
      type: 'string',
      value: 'NUMBER',
      meaning: `New people per calendar month: 0 to ${formatLimit(MOST)}, or \`unlimited\` (the default).`,
    },
    'events-per-hour': rate('Events per hour, per key'),
    'adds-per-hour': rate('Calls to add people per hour, per key'),
    'updates-per-hour': rate('Calls to change people per hour, per key'),
    'mcp-calls-per-minute': rate('MCP calls per minute, per key'),
    'snippet-limits': { type: 'string', value: 'on|off', meaning: 'With `off`, the browser script has no limits.' },
  },
  run: async (given, env) => {
    const plan = readChanges(given)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      expectDone(await store.setPlan({ accountId, actor: 'cli', at: Date.now(), plan }))
      return readPlan(store, accountId)
    })
  },
}
