/** The page about privacy states what the service does. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCOUNT_RULES, SIGN_INS_KEPT_MS } from '../../src/accounts/account-rules.ts'
import {
  DEFAULT_RETENTION,
  describeDays,
  REQUEST_DAYS,
  RESPONSE_DAYS,
  RETENTION_RULES,
} from '../../src/accounts/retention.ts'
import { appSet } from '../../src/cli/app-settings.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { VISIT_REPORT_MS } from '../../src/store/visit-reports.ts'

const markdownOf = (wanted: string): string => DOC_PAGES.find(({ slug }) => slug === wanted)?.markdown ?? ''
const [privacy, retention] = [markdownOf('privacy'), markdownOf('retention')]
const AT = 1_800_000_000_000
const daysOf = (until: number): number => Math.round((AT - until) / DAY_MS)

test('how long data is kept', () => {
  const { callsAt } = ACCOUNT_RULES.expiriesAt(AT)
  expect(DEFAULT_RETENTION).toMatchObject({ eventDays: null, pageViewDays: null })
  for (const sentence of [
    `captured emails: the whole email | when the retention period ends (${DEFAULT_RETENTION.capturedDays} days by default)`,
    `| after ${VISIT_REPORT_MS / HOUR_MS} hours`,
    `when the retention period ends (${RESPONSE_DAYS * 24} hours by default), or when you erase the person`,
    `no values | when the retention period ends (${REQUEST_DAYS} days by default)`,
    `sign-ins after ${SIGN_INS_KEPT_MS / DAY_MS} days, calls from AI clients after ${daysOf(callsAt)} days`,
  ])
    expect(privacy.replaceAll(/ +\|/g, ' |')).toContain(sentence)
})

test('how long apps can keep data', () => {
  const rows = retention.replaceAll(/ +\|/g, ' |')
  for (const row of [
    `| --keep-events | ${describeDays('eventDays')} | no limit |`,
    `| --keep-page-views | ${describeDays('pageViewDays')} | no limit |`,
    `| --keep-captured | ${describeDays('capturedDays')} | ${DEFAULT_RETENTION.capturedDays} |`,
    `| --keep-requests | ${describeDays('requestDays')} | ${REQUEST_DAYS} |`,
    `| --keep-responses | ${describeDays('responseDays')} | ${RESPONSE_DAYS} |`,
  ])
    expect(rows.replaceAll('`', '')).toContain(row)
  expect(retention).toContain(`for ${daysOf(RETENTION_RULES.notedSince(AT))} days after one was sent`)
  const options = [...retention.matchAll(/--(keep-[a-z-]+)/g)].map(([, option = '']) => option)
  expect(new Set(options).size).toBe(5)
  for (const option of options) expect(appSet.options).toHaveProperty(option)
})

test('the files that open connections are those of what it lists', () => {
  const root = join(import.meta.dir, '../../src')
  const callers = /(?<![.\w])fetch\(|import \{[^}]*\b(connect|lookup|Resolver|request)\b[^}]*\} from 'node:/
  const files = [...new Bun.Glob('**/*.ts').scanSync(root)].filter((file) => !/^(docs|dashboard\/islands)\//.test(file))
  const found = files.filter((file) => callers.test(readFileSync(join(root, file), 'utf8')))
  expect(found.toSorted()).toEqual([
    'cli/examine.ts',
    'cli/health.ts',
    'mail/api-provider.ts',
    'mail/dial.ts',
    'mail/dns.ts',
    'mail/sns.ts',
    'mail/suppression-lists.ts',
    'monitoring/webhook.ts',
  ])
})
