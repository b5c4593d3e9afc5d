import { describe, expect, test } from 'bun:test'
import { readScript, readStub } from '../../src/assets.ts'
import { appSet, appTag } from '../../src/cli/app-settings.ts'
import { MOST_WATCHERS } from '../../src/events/feed.ts'
import { RATE_LIMITS } from '../../src/accounts/limits.ts'
import { ABUSE_LIMITS } from '../../src/http/abuse-limits.ts'
import { readMessage } from '../../src/messages/message-input.ts'
import { findTemplateProblems } from '../../src/messages/templates.ts'
import { effectivePlan } from '../../src/accounts/plans.ts'
import { LIMIT_NAMES, REFUSALS, type ScriptLimitName } from '../../src/core/refusals.ts'
import { readVisitReport } from '../../src/visits/visit-reports.ts'
import { SNIPPET_LIMITS } from '../../src/visits/snippet-limits.ts'
import { makeSnippetTag, stubHash } from '../../src/visits/snippet-tag.ts'
import { DOC_PAGES, writeDocPage } from '../../src/docs/index.ts'
import { EMAILS_FILE, EXAMPLE_VALUES, fillSample, PAGE_SAMPLES } from '../../src/docs/samples.ts'
import { retryDelay } from '../../src/mail/marks.ts'
import { COSTLY_CALL_LIMIT } from '../../src/accounts/costly-calls.ts'
import { TOOL_NAMES } from '../../src/mcp/tools/index.ts'
import { BRAKE_DAYS, BRAKE_DEFAULTS, CEILINGS, FEWEST, TARGETS } from '../../src/deliveries/brake.ts'
import { CANCELLATION_REASONS } from '../../src/store/message-types.ts'

const markdownOf = (slug: string): string => DOC_PAGES.find((page) => page.slug === slug)?.markdown ?? ''
const rowsOf = (slug: string) =>
  new Map(Array.from(markdownOf(slug).matchAll(/^\| (.+?) +\| (.+?) +\|/gm), ([, a, b]) => [a, b]))

test('every page has a title, a summary and the address of the installation', () => {
  const slugs = `start events retries contacts opt-in sends manage snippet calls script consent privacy retention connections mcp tools messages emails triggers conditions rules frequency content filters layout html languages texts topics results holdback sending delivery states bounces
    rates senders domains providers ses install docker docker-production hosting settings command-line backups restore replication master-key upgrades scale-out postgresql move orchestration failures sizes monitoring alerts accounts limits errors requests http security threats vulnerabilities sessions data cryptography asvs asvs-v8 development commands benchmarks releases`
  expect(DOC_PAGES.map(({ slug }) => slug)).toEqual(slugs.split(/\s+/))
  for (const page of DOC_PAGES) {
    expect([page.title, page.summary]).toEqual([expect.stringMatching(/^\w/), expect.stringMatching(/\.$/)])
    expect(writeDocPage(page, 'https://post.example.com')).not.toMatch(/\{(base_url|samples *:)/)
    expect(page.source).not.toMatch(/\{\s*samples?\s*:\s*[\w.-]+\s+\}/)
  }
})

test('files are on their page whole, also in Markdown', () => {
  const files = [...PAGE_SAMPLES].filter(([, languages]) => languages.length === 1)
  for (const [name, [file]] of files) {
    const page = DOC_PAGES.find(({ source }) => source.includes(`{samples:${name}}`))
    expect([name, page?.markdown.replaceAll(/^ +/gm, '')]).toEqual([
      name,
      expect.stringContaining(fillSample(file?.blocks[0]?.code ?? '', EXAMPLE_VALUES).replaceAll(/^ +/gm, '')),
    ])
  }
  expect(files.map(([name]) => name)).toContain('haproxy')
})

test('code samples are filled in, at the indentation of their list', () => {
  const blocksOf = (slug: string): string[] => markdownOf(slug).match(/^ *```(?:js|sh)\n[^]*?\n *```$/gm) ?? []
  const codeOf = (name: string, id: string) =>
    PAGE_SAMPLES.get(name)
      ?.find((one) => one.id === id)
      ?.blocks.map(({ code }) => fillSample(code, EXAMPLE_VALUES))
  for (const [slug, name, id, indent] of [
    ['snippet', 'identify', 'browser', ''],
    ['consent', 'consent', 'browser', '  '],
    ['snippet', 'identity', 'node', ''],
    ['start', 'environment', 'shell', '   '],
    ['start', 'event', 'curl', '   '],
    ['start', 'event', 'node', '   '],
    ['start', 'read-events', 'curl', '   '],
  ] as const) {
    const [code = ''] = codeOf(name, id) ?? []
    expect([name, code.length > 0]).toEqual([name, true])
    const block = `\`\`\`${['curl', 'shell'].includes(id) ? 'sh' : 'js'}\n${code}\n\`\`\``
    expect(blocksOf(slug)).toContain(block.replaceAll(/^(?=.)/gm, indent))
  }
})

describe('the pages are correct about', () => {
  test('rates and the brake', () => {
    const text = markdownOf('rates')
    const { complaints, bounces } = BRAKE_DEFAULTS
    expect(text).toContain(`if ${complaints}% of the emails from the last ${BRAKE_DAYS} days`)
    expect(text).toContain(`or ${bounces}% bounce. This requires at least ${FEWEST.emails} emails`)
    expect(text).toContain(`${FEWEST.complaints} complaints or ${FEWEST.bounces} bounces`)
    for (const asked of [TARGETS, CEILINGS]) {
      expect(text).toContain(`complaints ${asked === TARGETS ? 'below' : 'of'} ${asked.complaints}%`)
      expect(text).toContain(`bounces ${asked === TARGETS ? 'below' : 'of'} ${asked.bounces}%`)
    }
  })

  test('limits', () => {
    const rows = rowsOf('limits')
    const inHour = ({ max }: { max: number }): string => `${max.toLocaleString('en')} in any hour`
    expect(rows.get('events, per key')).toBe(inHour(RATE_LIMITS.events))
    expect(rows.get('calls to add people, per key')).toBe(inHour(RATE_LIMITS.contactAdds))
    expect(rows.get('calls to change people, per key')).toBe(inHour(RATE_LIMITS.contactUpdates))
    const { max } = RATE_LIMITS.addsPerVisitor
    expect(rows.get("calls to add people with a visitor's `ip`, per app and IP address")).toBe(
      `${max} in any 10 minutes`,
    )
    const none = { newPeoplePerMonth: null, eventsPerHour: null, addsPerHour: null, updatesPerHour: null }
    const { mcpCallsPerMinute } = effectivePlan({ ...none, mcpCallsPerMinute: null, snippetLimits: true })
    const inMinute = (most: number): string => `${most.toLocaleString('en')} in any minute`
    expect(rows.get('MCP calls, per key')).toBe(inMinute(mcpCallsPerMinute))
    const ofCostly = 'simulations, per key; test emails, per key'
    expect(rows.get(ofCostly)).toBe(inMinute(COSTLY_CALL_LIMIT.max))
    expect(rows.get('refused requests, per key')).toBe(inMinute(ABUSE_LIMITS.key.max))
    expect(rows.get('requests without a valid key, per IP address')).toBe(inMinute(ABUSE_LIMITS.address.max))
    const { person, site, address, badSignatures } = SNIPPET_LIMITS
    expect(rows.get('page views and actions from the browser script, per person')).toBe(inHour(person))
    expect(rows.get('page views and actions from the browser script, per site')).toBe(inHour(site))
    expect(rows.get('requests from the browser script, per IP address')).toBe(inMinute(address.max))
    expect(rows.get('wrong identity signatures, per app and IP address')).toBe(inMinute(badSignatures.max))
    const live = `${MOST_WATCHERS.member} per member, ${MOST_WATCHERS.account} per account`
    expect(rows.get('live dashboard pages')).toBe(live)
    const names = Array.from(markdownOf('limits').matchAll(/ \| `(\w+_\w+)` +\|$/gm), ([, name]) => name)
    const ofScript: ScriptLimitName[] = [
      'person_items_per_hour',
      'site_items_per_hour',
      'reports_per_minute',
      'wrong_signatures_per_minute',
    ]
    expect(names.toSorted()).toEqual([...Object.keys(LIMIT_NAMES), ...ofScript].toSorted())
  })

  test('when an email is retried', () => {
    const delays = (isServerFault: boolean) =>
      [1, 2, 3, 4, 5, 6].map((tries) => retryDelay(tries, { isServerFault, spread: 0 }) / 60_000)
    const [a, b, c, d = 0, e = 0, f = 0] = delays(false)
    const hours = `${d / 60} and ${e / 60} hours, then every ${f / 60} hours`
    expect(markdownOf('delivery')).toContain(`after ${a}, ${b} and ${c} minutes, ${hours}`)
    const [g, h, ...later] = delays(true)
    expect(new Set(later).size).toBe(1)
    expect(markdownOf('delivery')).toContain(`after ${g} and ${h} minutes, then every ${later[0]} minutes`)
  })

  test('the tools of MCP', () => {
    const named = Array.from(rowsOf('tools').keys(), (cell) => cell?.match(/[a-z]+_[a-z_]+/g) ?? []).flat()
    expect(named.sort()).toEqual([...TOOL_NAMES].sort())
    expect(markdownOf('tools')).toContain(`are limited to ${COSTLY_CALL_LIMIT.max} calls a minute`)
  })

  test('the example message and the list of rules', () => {
    const [, example = ''] = /```json\n([^]*?)```/.exec(markdownOf('messages')) ?? []
    expect(readMessage(JSON.parse(example))).toMatchObject({ input: { name: 'Results ready, they left' } })
    const [, template = ''] = /```liquid\n([^]*?)```/.exec(markdownOf('content')) ?? []
    expect([template.length > 0, findTemplateProblems(template)]).toEqual([true, []])
    const named = Array.from(rowsOf('rules').keys(), (cell) => cell?.match(/`(\w+)`/g) ?? []).flat()
    const rules = Object.keys(CANCELLATION_REASONS).map((rule) => `\`${rule}\``)
    expect(named.filter((name) => !['`trigger`', '`rule`', '`again`'].includes(name)).sort()).toEqual(rules.sort())
  })

  test('the emails of the file, and the filters', () => {
    const names = (JSON.parse(EMAILS_FILE) as { name: string }[]).map(({ name }) => name)
    expect(Array.from(rowsOf('emails').keys()).slice(2)).toEqual(names)
    const [, liquid = ''] = /## Liquid's filters([^]*?)\n## /.exec(markdownOf('filters')) ?? []
    const filters = Array.from(liquid.matchAll(/`([a-z_]+)`(?=[, ]+(?:`| *\|))/g), ([, name = '']) => name)
    expect(filters).toHaveLength(33)
    for (const name of filters) expect([name, findTemplateProblems(`{{ event.a | ${name}: 1 }}`)]).toEqual([name, []])
  })

  test('the tag, its hash, its forms, and who it adds', () => {
    const stub = readStub()
    expect(markdownOf('snippet')).toContain(makeSnippetTag({ baseUrl: '{base_url}', siteId: 'SITE_ID', stub }))
    expect(markdownOf('consent')).toContain(`'${stubHash(stub)}'`)
    for (const form of ['consent', 'gpc', 'pinned']) {
      expect(markdownOf('consent')).toContain(`\`--${form}\``)
      expect(appTag.options).toHaveProperty(form)
    }
    const settings = Array.from(markdownOf('snippet').matchAll(/--(snippet-[a-z-]+)/g), ([, name = '']) => name)
    expect(settings).toEqual(['snippet-adds-people', 'snippet-host'])
    for (const name of settings) expect(appSet.options).toHaveProperty(name)
  })

  test('the request of the script', () => {
    const [, example = ''] = /```json\n([^]*?)```/.exec(markdownOf('script')) ?? []
    const body = JSON.parse(example)
    expect(readVisitReport(body, 0)).toMatchObject({ input: { email: 'ada@example.com', id: body.id } })
    const [, fields = ''] = markdownOf('script').split('## A request')
    for (const name of [...Object.keys(body), ...Object.keys(Object.assign({}, ...body.events))]) {
      if (name !== 'events') expect([name, fields.includes(`\`${name}\``)]).toEqual([name, true])
    }
    for (const type of ['page', 'track', 'leave', 'here']) {
      expect(fields).toContain(`- \`${type}\`: `)
      expect(readVisitReport({ ...body, events: [{ ...body.events[1], type }] }, 0)).toHaveProperty('input')
    }
    // the script's own requests: test/snippet/calls.test.ts
    expect(Object.keys(body)).toEqual(['v', 'site', 'email', 'signature', 'id', 'events'])
  })

  test('the console messages of the script', () => {
    const [, section = ''] = markdownOf('calls').split("## In the browser's console")
    const cells = Array.from(section.matchAll(/^\| (`.+?`) +\|/gm), ([, cell = '']) => cell)
    const said = cells.flatMap((cell) => Array.from(cell.matchAll(/`(.+?)`/g), ([, words = '']) => words))
    const { max } = SNIPPET_LIMITS.person
    const sent = [REFUSALS.invalid_signature, REFUSALS.origin_not_allowed, REFUSALS.site_not_found]
    const script = new TextDecoder().decode(readScript().identity)
    const known = [`More than ${max} page views and actions per hour`, ...sent.map(({ message }) => message), script]
    expect(said).toHaveLength(10)
    for (const words of said) expect([words, known.some((text) => text.includes(words))]).toEqual([words, true])
  })
})
