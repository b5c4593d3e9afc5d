/** Renders templates in its own thread; see messages/template-worker.ts. */
import { NO_TEXTS } from '../accounts/app-texts.ts'
import type { MailFacts, MailTemplate } from '../messages/mailer.ts'
import { computedMs, makeTemplateScope, RENDER_MS } from '../messages/template-scope.ts'
import type { CountedFault, FromTemplates, Inspection, ToTemplates, TrialResult } from '../messages/template-worker.ts'
import { fillTemplate, findTemplateProblems, listUsedProperties } from '../messages/templates.ts'
import { type TemplateFault } from '../messages/template-faults.ts'
import { type Part, PARTS } from '../messages/mail-texts.ts'
import { cleanSource, isBlank, MarkdownLimit, parseMarkdown } from './markdown.ts'
import { findLayoutProblems } from './own-layout.ts'
import { renderMail } from './render.ts'

declare const self: Worker

// LiquidJS throws for missing values; half of the cost is the stack trace
Error.stackTraceLimit = 0

/** The first email takes many times longer, which would use up its budget. */
function warmUp(): void {
  const template: MailTemplate = {
    subject: 'Hello',
    preheader: '',
    body: '**Hello** [there]({{ app.homeUrl }})',
    html: '',
    category: 'lifecycle',
  }
  const contact = { email: 'ada@example.com', firstName: null, lastName: null, tags: null, fields: null }
  const app = { name: 'App', homeUrl: 'https://example.com/', hosts: [], locale: 'en', timezone: 'UTC' }
  const style = { logoUrl: null, colour: null, postalAddress: null, layout: null, texts: NO_TEXTS, lang: 'en' }
  renderMail(template, { contact, event: null, app, style, unsubscribeUrl: 'https://example.com/' }, WARM_MS)
}
const WARM_MS = 5_000

warmUp()
self.onmessage = ({ data }: MessageEvent<string>) =>
  self.postMessage(JSON.stringify(answerAll(JSON.parse(data) as ToTemplates[])))
self.postMessage('ready')

/** As many as the time of one allows; at least one. */
function answerAll(requests: readonly ToTemplates[]): FromTemplates[] {
  const until = computedMs() + (requests[0]?.budgetMs ?? 0)
  const answers: FromTemplates[] = []
  for (const request of requests) {
    if (answers.length > 0 && computedMs() > until) break
    answers.push(answer(request))
  }
  return answers
}

function answer(request: ToTemplates): FromTemplates {
  try {
    return { answer: run(request) }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

function run(request: ToTemplates): unknown {
  if ('render' in request) return renderMail(request.render.template, request.render.facts, request.budgetMs)
  if ('layout' in request) return findLayoutProblems(request.layout)
  return 'inspect' in request ? inspect(request.inspect) : tryAll(request.tryAll, request.budgetMs)
}

const inspect = (sources: readonly string[]): Inspection => ({
  problems: sources.map((source) => findTemplateProblems(source)),
  properties: sources.flatMap(listUsedProperties),
})

type Trial = { template: MailTemplate; samples: readonly MailFacts[] }

function tryAll({ template, samples }: Trial, budgetMs: number): TrialResult {
  const until = computedMs() + budgetMs
  const found = new Map<string, CountedFault>()
  const count = (part: CountedFault['part'], fault: TemplateFault): void => {
    const key = JSON.stringify([part, fault])
    found.set(key, { part, fault, count: (found.get(key)?.count ?? 0) + 1 })
  }
  let tried = 0
  for (const facts of samples) {
    if (tried > 0 && computedMs() > until) break
    tried += 1
    for (const [part, fault] of findFaults(template, facts)) count(part, fault)
  }
  return { tried, faults: [...found.values()] }
}

/** Checks every part, so that the author sees all problems. */
function findFaults(template: MailTemplate, facts: MailFacts): [part: Part, fault: TemplateFault][] {
  const [scope, until] = [makeTemplateScope(facts), computedMs() + RENDER_MS]
  return PARTS.flatMap((part) => {
    const filled = fillTemplate(cleanSource(template[part]), scope, { place: facts.app, until })
    if (!('filled' in filled)) return [[part, filled]]
    const fault = part === 'body' && template.html === '' ? findBodyFault(filled.filled) : null
    return fault ? [[part, fault]] : []
  })
}

/** Markdown may be empty or too deep. */
function findBodyFault(filled: string): TemplateFault | null {
  try {
    return isBlank(parseMarkdown(filled)) ? { empty: 'body' } : null
  } catch (error) {
    if (error instanceof MarkdownLimit) return { broken: error.message }
    throw error
  }
}
