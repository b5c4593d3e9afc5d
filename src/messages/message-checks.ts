import { parseProperties } from './conditions.ts'
import type { Mail, MailSettings, MailText, MessageContent, Trigger } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { formatCount } from '../core/count.ts'
import { listTexts, type Part, PARTS, writeTexts } from './mail-texts.ts'
import { mailFactsOf, mailTemplateOf, type RenderedMail } from './mailer.ts'
import { makeNewPerson, makeSample } from './message-samples.ts'
import type { FieldError } from '../core/refusals.ts'
import { findNearest } from '../core/nearest.ts'
import { findHostToAdd } from '../accounts/app-settings.ts'
import { type OptInText, writeRequest } from '../accounts/opt-in.ts'
import type { Senders } from '../accounts/senders.ts'
import { describeTemplateFault, readMissing, type TemplateFault } from './template-faults.ts'
import type { TemplateFacts } from './template-scope.ts'
import type { CountedFault, TemplateWorker } from './template-worker.ts'
import { collectMsOf } from './again.ts'
import { withFirstTrigger } from './sequences.ts'
import { isStartedBy, mayStart } from './triggers.ts'
import { describeShare, type Tried, whatTriggers } from './tried.ts'
import { warnOfData } from './data-checks.ts'
import type { UsedProperty } from './templates.ts'

/** Recent events or people that a draft is tried on. */
const CHECKED = 500
/** In total. Sent to the template thread in groups, so that others get their turn. */
const CHECK_MS = 1_000
const GROUP = 50
const GROUP_MS = 250

/** `asksDns`: false for read-only views. `most`: fewer recent events or people, where the answer must be quick. */
export type CheckContext = {
  store: Store
  app: AppRow
  senders: Senders
  templates: TemplateWorker
  asksDns?: boolean
  most?: number
  /** saved together, so that they may trigger each other */
  drafts?: readonly { name: string; content: MessageContent }[]
}

/** `replace`: a change of the text that fixes it. */
export type LiveProblem = FieldError & { replace?: { from: string; by: string } }

/** Links that the newest email would lack. `host`: the domain that the app lacks; null if that isn't why. */
export type LackedLinks = { refused: readonly string[]; host: string | null; isMadeUp: boolean }

/** `problems` block going live; `warnings` count emails without a text and data that fits no rule. `tried`: null until the message is complete. */
export type LiveCheck = {
  problems: LiveProblem[]
  warnings: FieldError[]
  tried: Tried | null
  lacked: LackedLinks | null
}

const UNSUBSCRIBE_URL = 'https://example.com/unsubscribe'
const CONFIRM_URL = 'https://example.com/confirm'

/** Checks sender and templates before going live, and each value in recent events or people. */
export async function checkLive(
  { store, app, senders, templates, asksDns, most = CHECKED, drafts }: CheckContext,
  written: MessageContent,
): Promise<LiveCheck> {
  const content = await withFirstTrigger(store, app, written, drafts)
  const settings = await store.mailSettings(app.id)
  const unsent = await findUnsent({ app, senders, asksDns, settings }, content.mail)
  const texts = listTexts(content.mail)
  const starts = await listStarts({ store, app, most }, content)
  const checks: LiveCheck[] = []
  for (const { variant, path, text } of texts) {
    const trying = { app, variant, templates, settings, starts, checkMs: CHECK_MS / texts.length }
    const mail = { ...text, category: content.mail.category }
    checks.push(atPath(await checkText(trying, { ...content, mail }), path))
  }
  const unfit = await warnOfData(
    { store, app },
    { ...content, settings, starts: starts.flatMap(({ event }) => event ?? []) },
  )
  return {
    problems: [...unsent, ...checks.flatMap(({ problems }) => problems)],
    warnings: [...unfit, ...checks.flatMap(({ warnings }) => warnings)],
    tried: sumTried(checks),
    lacked: checks.find(({ lacked }) => lacked !== null)?.lacked ?? null,
  }
}

/** One text of a message, as `mail`. */
async function checkText(trying: Trying, content: MessageContent): Promise<LiveCheck> {
  const { problems: broken, properties } = await inspectText(trying, content.mail)
  if (broken.length > 0) return { problems: broken, warnings: [], tried: null, lacked: null }
  const trial = await tryOut(trying, content, properties)
  const unlisted = collects(content) && showsEvent(content.mail) && !listsEvents(content.mail) ? [UNLISTED] : []
  return { ...trial, problems: [...unlisted, ...trial.problems] }
}

const moveTo = <Error extends FieldError>(path: string, errors: Error[]): Error[] =>
  errors.map((error) => ({ ...error, field: error.field.replace(/^mail(?=\.)/, path) }))

const atPath = (check: LiveCheck, path: string): LiveCheck => ({
  ...check,
  problems: moveTo(path, check.problems),
  warnings: moveTo(path, check.warnings),
})

/** null if one of the texts couldn't be tried. */
function sumTried(checks: readonly LiveCheck[]): Tried | null {
  const all = checks.flatMap(({ tried }) => tried ?? [])
  const [least] = all.toSorted((a, b) => a.tried - b.tried)
  if (least === undefined || all.length < checks.length) return null
  return { ...least, usesValues: all.some(({ usesValues }) => usesValues) }
}

const untried = ({ trigger, mail }: MessageContent): Tried => ({
  tried: 0,
  of: 0,
  what: whatTriggers(trigger),
  usesValues: PARTS.some((part) => HAS_TEMPLATE.test(mail[part] ?? '')),
})

type Inspecting = { app: Pick<AppRow, 'id'>; templates: TemplateWorker }
type Text = { [part in Part]?: string | undefined }
type Texts = Text & { variants?: Record<string, Text> | undefined }

/** Checks an incomplete message: its sender, and templates with syntax errors. */
export async function checkIncomplete(
  context: CheckContext,
  mail: Texts & Pick<Mail, 'fromEmail' | 'fromName'>,
  { asksSender }: { asksSender: boolean },
): Promise<FieldError[]> {
  const settings = await context.store.mailSettings(context.app.id)
  const unsent = asksSender ? await findUnsent({ ...context, settings }, mail) : []
  return [...unsent, ...(await findTemplateFaults(context, mail))]
}

type Sending = Pick<CheckContext, 'app' | 'senders' | 'asksDns'> & { settings: MailSettings }

async function findUnsent(
  { app, senders, asksDns, settings }: Sending,
  mail: Pick<Mail, 'fromEmail' | 'fromName'>,
): Promise<FieldError[]> {
  const problem = await senders.findProblem({ app, mail, settings }, { asksDns })
  return problem ? [{ field: 'mail.fromEmail', code: problem.code, message: problem.message }] : []
}

/** What is wrong with the templates of any text. */
export async function findTemplateFaults(inspecting: Inspecting, mail: Texts): Promise<FieldError[]> {
  const found: FieldError[] = []
  for (const { path, text } of listTexts(mail)) {
    found.push(...moveTo(path, (await inspectText(inspecting, text)).problems))
  }
  return found
}

async function inspectText({ app, templates }: Inspecting, mail: Text) {
  const inspected = await templates.inspect(app.id, Object.values(writeTexts(mail)))
  if (inspected === null) return { problems: [SLOW], properties: [] }
  const problems = PARTS.flatMap((part, index) =>
    (inspected.problems[index] ?? []).map((message) => ({ field: `mail.${part}`, code: 'template', message })),
  )
  return { problems, properties: inspected.properties }
}

/** An email that asks for consent, for someone of whom only the address is known. */
export async function checkRequest(
  { store, app, templates }: Pick<CheckContext, 'store' | 'app' | 'templates'>,
  text: OptInText,
): Promise<FieldError[]> {
  const { subject, body, button } = text
  const { problems } = await inspectText({ app, templates }, { subject, body: `${body}\n\n${button}` })
  if (problems.length > 0) return problems.map((one) => ({ ...one, field: one.field.replace('mail.', '') }))
  const settings = await store.mailSettings(app.id)
  const person = { contact: makeNewPerson(app, 'ada@example.com'), event: null, app, settings, variant: null }
  const facts = mailFactsOf(person, UNSUBSCRIBE_URL, CONFIRM_URL)
  const rendered = await templates.render(app.id, { template: mailTemplateOf(writeRequest(text), null), facts })
  if ('html' in rendered) return []
  return [{ field: 'body', code: 'template', message: describeTemplateFault(rendered) }]
}

const collects = ({ again }: MessageContent): boolean => collectMsOf(again) !== null
const showsEvent = (mail: MailText): boolean => PARTS.some((part) => /\{\{[^{}]*\bevent\./.test(mail[part] ?? ''))
const listsEvents = ({ body, html }: MailText): boolean => /\{%-?\s*for\s+[\w-]+\s+in\s+events\b/.test(html ?? body)

/** Otherwise only the first of several events would show. */
const UNLISTED: FieldError = {
  field: 'mail.body',
  code: 'events_not_listed',
  message:
    'Emails from this message collect several events, but the text shows only the first. List them with {% for event in events %} ... {% endfor %}, or turn off collecting.',
}

const SLOW: FieldError = {
  field: 'mail.body',
  code: 'template_too_slow',
  message: 'This email takes too long to render. Use fewer loops and filters, or a shorter text.',
}

type Start = Pick<TemplateFacts, 'contact' | 'event'>
/** `starts`: recent events or people. `variant`: the language of the text. */
type Trying = Pick<CheckContext, 'app' | 'templates'> & {
  settings: MailSettings
  starts: Start[]
  variant: string | null
  checkMs: number
}

async function tryOut(trying: Trying, content: MessageContent, properties: UsedProperty[]): Promise<LiveCheck> {
  const { app, starts } = trying
  const nothing = untried(content)
  const madeUp = makeSample(app, content, { properties, at: 0 })
  if (nothing.what === 'people') {
    const eventless = await findEventless(trying, content, madeUp)
    if (eventless.length > 0) return { problems: eventless, warnings: [], tried: nothing, lacked: null }
  }
  const { tried, faults } = await tryAll(trying, content, starts)
  const whole = await tryWhole(trying, content, starts[0] ?? madeUp)
  const counted = { ...nothing, tried, of: starts.length }
  const [skipped, wrong] = partition(faults)
  const names = [...new Set(starts.flatMap(({ event }) => Object.keys(parseProperties(event?.properties ?? null))))]
  const missing = skipped.flatMap((fault) => describeMissing(fault, counted, { app, mail: content.mail, names }))
  const broken = wrong.map((fault) => describeCounted(fault, counted))
  return {
    problems: [...missing, ...broken, ...(wrong.length > 0 ? [] : whole.problems)],
    warnings: [...skipped.flatMap((fault) => warnOfEmpty(fault, counted)), ...whole.warnings],
    tried: counted,
    lacked: findLacked(app, whole.refusedLinks, { isMadeUp: starts.length === 0 }),
  }
}

/** Links to a made-up page lack only a domain. */
function findLacked(app: AppRow, refused: readonly string[], { isMadeUp }: { isMadeUp: boolean }): LackedLinks | null {
  if (refused.length === 0 || (isMadeUp && app.hosts.length > 0)) return null
  const hosts = isMadeUp ? [] : refused.flatMap((link) => findHostToAdd(link, app.hosts) ?? [])
  return { refused, host: hosts[0] ?? null, isMadeUp }
}

/** Splits faults of single emails from faults of the template, each by part. Slowness is left to tryWhole. */
function partition(faults: readonly CountedFault[]): [skipped: CountedFault[], wrong: CountedFault[]] {
  const sorted = faults.toSorted((a, b) => PARTS.indexOf(a.part ?? 'body') - PARTS.indexOf(b.part ?? 'body'))
  const isSkipped = ({ fault }: CountedFault): boolean => 'missing' in fault || 'empty' in fault
  return [sorted.filter(isSkipped), sorted.filter(({ fault }) => 'broken' in fault)]
}

/** Event values in a message that no event starts: they would always be missing. */
async function findEventless(trying: Trying, content: MessageContent, madeUp: Start): Promise<FieldError[]> {
  const { faults } = await tryAll(trying, content, [madeUp])
  return partition(faults)[0].flatMap(({ part, fault }) => {
    const { variable } = readMissing('missing' in fault ? fault.missing : '')
    if (!variable.startsWith('event.')) return []
    const message = `No event triggers this message, so \`${variable}\` has no value. Give it a fallback: \`${withFallback(variable)}\`.`
    return [{ field: `mail.${part}`, code: 'missing_value', message }]
  })
}

async function tryAll(trying: Trying, { mail }: MessageContent, starts: readonly Start[]) {
  const found = new Map<string, CountedFault>()
  const until = performance.now() + trying.checkMs
  let tried = 0
  while (tried < starts.length) {
    const leftMs = until - performance.now()
    if (leftMs <= 0) break
    const samples = starts
      .slice(tried, tried + GROUP)
      .map((start) => mailFactsOf({ ...trying, ...start }, UNSUBSCRIBE_URL))
    const trial = { template: mailTemplateOf(mail, null), samples }
    const result = await trying.templates.tryAll(trying.app.id, trial, Math.min(leftMs, GROUP_MS))
    for (const one of result.faults) {
      const key = JSON.stringify([one.part, one.fault])
      found.set(key, { ...one, count: one.count + (found.get(key)?.count ?? 0) })
    }
    tried += result.tried
    if (result.faults.some(({ part }) => part === null)) break
  }
  return { tried, faults: [...found.values()] }
}

const HAS_TEMPLATE = /\{[{%]/
const EMPTY: FieldError = {
  field: 'mail.body',
  code: 'empty_mail',
  message: 'The text is empty, so no email would be sent. Add some text.',
}

/** Markdown and length hardly depend on values. Tried twice, like sending. */
async function tryWhole(
  trying: Trying,
  { mail }: MessageContent,
  start: Start,
): Promise<{ problems: FieldError[]; warnings: FieldError[]; refusedLinks: readonly string[] }> {
  const { app, templates } = trying
  const whole = { template: mailTemplateOf(mail, null), facts: mailFactsOf({ ...trying, ...start }, UNSUBSCRIBE_URL) }
  const first = await templates.render(app.id, whole)
  const rendered = 'slow' in first ? await templates.render(app.id, whole, { isAlone: true }) : first
  if ('html' in rendered) return { ...rendered, problems: [], warnings: warnOfSize(rendered, mail) }
  return { problems: findWhole(rendered, mail), warnings: [], refusedLinks: [] }
}

const textField = ({ html }: Text): string => (html ? 'mail.html' : 'mail.body')

function findWhole(fault: TemplateFault, mail: Mail): FieldError[] {
  if ('empty' in fault) return HAS_TEMPLATE.test(mail.html ?? mail.body) ? [] : [{ ...EMPTY, field: textField(mail) }]
  if ('missing' in fault) return []
  if ('slow' in fault) return [SLOW]
  return [{ field: textField(mail), code: 'template', message: describeTemplateFault(fault) }]
}

/** Gmail shows no more of an email. */
const SHOWN_KB = 102

export const TOO_LARGE = 'too_large'

function warnOfSize({ html }: RenderedMail, mail: Mail): FieldError[] {
  const kilobytes = Math.ceil(Buffer.byteLength(html) / 1024)
  const hidden = mail.category === 'transactional' ? '' : ', which can hide the unsubscribe link'
  const message = `The email is ${formatCount(kilobytes)} KB. Gmail cuts off emails after ${SHOWN_KB} KB${hidden}.`
  return kilobytes > SHOWN_KB ? [{ field: textField(mail), code: TOO_LARGE, message }] : []
}

type Listing = Pick<CheckContext, 'store' | 'app'> & { most: number }

/** The events or people that the email is tried on. */
async function listStarts(listing: Listing, { trigger }: MessageContent): Promise<Start[]> {
  if ('event' in trigger) return listTriggers(listing, trigger)
  if (whatTriggers(trigger) !== 'people') return []
  return (await listPeople(listing)).filter(({ contact }) => mayStart(trigger, contact))
}

/** The app's newest people, whom a tag, a page view or being added may trigger. */
async function listPeople({ store, app, most }: Listing): Promise<Start[]> {
  const query = { appId: app.id, tag: null, updatedAfter: null, before: null, limit: most }
  return (await store.listContacts(query)).map((contact) => ({ contact, event: null }))
}

async function listTriggers({ store, app, most }: Listing, trigger: OnEvent): Promise<Start[]> {
  const query = { appId: app.id, contactId: null, name: trigger.event, before: null, limit: most }
  const { rows } = await store.listEvents(query)
  const starting = rows.filter((row) => isStartedBy(trigger, row))
  const ids = new Set(starting.map(({ contactId }) => contactId))
  const people = new Map((await store.listContactsById([...ids])).map((contact) => [contact.id, contact]))
  return starting.flatMap((event) => {
    const contact = people.get(event.contactId)
    return contact ? [{ contact, event }] : []
  })
}

type OnEvent = Extract<Trigger, { event: string }>

function describeCounted({ part, fault, count }: CountedFault, tried: Tried): FieldError {
  const message = `${describeTemplateFault(fault)} This happens ${describeShare(count, tried)}.`
  return { field: `mail.${part ?? 'body'}`, code: 'template', message }
}

/** A similar property, for one that no event has. */
function findSimilar(variable: string, names: readonly string[]): string | undefined {
  const [, name = ''] = /^event\.(\w+)$/.exec(variable) ?? []
  if (name === '' || names.includes(name)) return undefined
  const near = findNearest(name, names)
  return near === undefined ? undefined : `event.${near}`
}

const FALLBACKS = new Map([
  ['contact.firstName', '"there"'],
  ['event.headline', '"Your results are ready"'],
])

function describeMissing(
  { part, fault, count }: CountedFault,
  tried: Tried,
  { app, mail, names }: { app: AppRow; mail: Mail; names: readonly string[] },
): LiveProblem[] {
  if (!('missing' in fault)) return []
  const { variable, isFallbackEmpty } = readMissing(fault.missing)
  const fallback = findFallback(variable, app)
  const near = findSimilar(variable, names)
  const by = withFallback(variable, fallback)
  // a replacement would lose other filters
  const isKept = isFallbackEmpty && /\|.*\|/s.test(fault.missing)
  const from = part === null || isKept ? null : findPlain(mail[part] ?? '', fault.missing)
  const empty = isFallbackEmpty ? ', and an empty fallback counts as none' : ''
  const message = `\`${variable}\` is missing ${describeShare(count, tried)}${empty}. Add a fallback: \`${by}\`.${near ? ` Did you mean \`${near}\`?` : ''}`
  const fixed = near ? `{{ ${near} }}` : fallback ? by : `{% if ${variable} %}{{ ${variable} }}{% endif %}`
  const replace = from ? { replace: { from, by: fixed } } : {}
  return [{ field: `mail.${part ?? 'body'}`, code: 'missing_value', message, ...replace }]
}

function warnOfEmpty({ fault, count }: CountedFault, tried: Tried): FieldError[] {
  if (!('empty' in fault)) return []
  const message = `The text is empty ${describeShare(count, tried)}. No email is sent in that case.`
  return [{ field: 'mail.body', code: 'empty_mail', message }]
}

const findFallback = (variable: string, { homeUrl }: Pick<AppRow, 'homeUrl'>): string | undefined =>
  variable === 'event.url' && homeUrl !== null ? 'app.homeUrl' : FALLBACKS.get(variable)

export const proposeFallback = (variable: string, app: Pick<AppRow, 'homeUrl'>): string =>
  withFallback(variable, findFallback(variable, app))

const withFallback = (variable: string, fallback = '"..."'): string => `{{ ${variable} | default: ${fallback} }}`

/** Only when nothing else is in its braces. */
function findPlain(source: string, variable: string): string | null {
  const outputs = source.match(/\{\{[^{}]*\}\}/g) ?? []
  return outputs.find((output) => output.slice(2, -2).trim() === variable) ?? null
}
