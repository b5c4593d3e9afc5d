/** @jsxImportSource preact */
/** Pages of the documentation as HTML. */
import { render } from 'preact-render-to-string'
import type { DocPage } from '../../docs/index.ts'
import { type CodeSample, EXAMPLE_VALUES, fillSample } from '../../docs/samples.ts'
import { CodeBlock, CodeTabs } from '../ui/code.tsx'

export type Heading = { id: string; text: string }

/** A part of a page below one heading, as plain text; the first one may have no heading. */
export type Part = Heading & { body: string }

export type DocHtml = { page: DocPage; headings: Heading[]; parts: Part[]; html: string }

/** Values for the placeholders in samples. */
export type SampleValues = { appId: string; siteId: string; homeUrl: string; language: string | null }

/** Raw HTML in Markdown is disabled, so settings can't inject markup. */
const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true }

/** Renders everything except the samples, which depend on the reader. */
export function createDocHtml(page: DocPage, baseUrl: string): DocHtml {
  const written = Bun.markdown.html(bodyOf(fillSample(page.source, { base_url: baseUrl })), MARKDOWN)
  const html = withAnswers(withFolds(withTables(withBlocks(withBreaks(written)))))
  const headings = Array.from(written.matchAll(/<h2 id="([^"]*)">(.*?)<\/h2>/g), ([, id = '', text = '']) => ({
    id,
    text: textOf(text),
  }))
  return { page, headings, parts: partsOf(written), html }
}

/** With the samples in the reader's language and the reader's IDs. */
export function fillDocHtml({ page, html }: DocHtml, baseUrl: string, values: SampleValues): string {
  const texts = { base_url: baseUrl, app_id: values.appId, home_url: values.homeUrl }
  return html
    .replaceAll(/<p>\{samples:([\w.-]+)\}<\/p>/g, (marker, name: string) => {
      const languages = page.samples.get(name)
      return languages ? sampleHtml(name, fillLanguages(languages, texts), values.language) : marker
    })
    .replaceAll(/\b(APP_ID|SITE_ID)\b/g, (_, name: string) => (name === 'APP_ID' ? values.appId : values.siteId))
}

const fillLanguages = (languages: CodeSample[], texts: Record<string, string>): CodeSample[] =>
  languages.map((one) => ({
    ...one,
    blocks: one.blocks.map(({ label, code }) => ({ label, code: fillSample(code, texts) })),
  }))

/** They would make their page too tall. */
const FOLDED_SAMPLES: ReadonlySet<string> = new Set(['scale-out-compose', 'kubernetes'])

function sampleHtml(name: string, languages: CodeSample[], language: string | null): string {
  const [only, ...others] = languages
  const [block, ...further] = only?.blocks ?? []
  if (block && others.length === 0 && further.length === 0) {
    const code = (
      <CodeBlock id={`sample-${name}`} label={block.label}>
        {block.code}
      </CodeBlock>
    )
    if (!FOLDED_SAMPLES.has(name)) return render(code)
    return render(
      <details>
        <summary>
          {block.label.split('/').at(-1)}, {block.code.split('\n').length} lines
        </summary>
        {code}
      </details>,
    )
  }
  return render(<CodeTabs name={`sample-${name}`} label="Language" languages={languages} chosen={language} />)
}

/** Drops the title and summary, which the page header shows. */
const bodyOf = (markdown: string): string => markdown.split('\n').slice(3).join('\n')

const FENCES = new Map([
  ['sh', 'Shell'],
  ['json', 'JSON'],
  ['js', 'JavaScript'],
  ['markup', 'HTML'],
  ['liquid', 'Liquid'],
  ['html', 'HTML'],
  ['sql', 'SQL'],
  ['yaml', 'YAML'],
  ['ini', 'INI'],
])

const withBlocks = (html: string): string => {
  const names: string[] = []
  return html.replaceAll(FENCE, (_, language: string | undefined, code: string, at: number) => {
    const label = FENCES.get(language ?? '') ?? 'Text'
    const heading = HEADING.exec(html.slice(0, at))?.[1]
    const name = heading === undefined ? label : `${label}, ${textOf(heading)}`
    names.push(name)
    const count = names.filter((one) => one === name).length
    return render(
      <CodeBlock id={`code-${names.length}`} label={label} name={count > 1 ? `${name}, ${count}` : name}>
        {unescapeHtml(code).trimEnd()}
      </CodeBlock>,
    )
  })
}

const FENCE = /<pre><code(?: class="language-(\w+)")?>([^]*?)<\/code><\/pre>/g
/** The last heading of the text. */
const HEADING = /.*<h[23][^>]*>(.*?)<\/h[23]>/s

/** Tables become lists on phones. In those of more than two columns, cells then show the name of their column. */
const withTables = (html: string): string =>
  html.replaceAll(/<table>[^]*?<\/table>/g, (table) => {
    const names = Array.from(table.matchAll(/<th[^>]*>(.*?)<\/th>/g), ([, name = '']) => textOf(name))
    const isOfFields = names[1] === 'Type'
    const kind = isOfFields ? ' of-fields' : names[1] === 'Codes' ? ' of-codes' : ''
    const headed = table.replace('<table>', `<table class="table${kind}">`).replaceAll('<th>', '<th scope="col">')
    if (isOfFields || names.length < 3) return headed
    return headed.replaceAll(/<tr>(<td>.*?)<\/tr>/g, (row) => {
      let column = 0
      return row.replaceAll('<td>', () => `<td data-label="${escapeHtml(names[column++] ?? '')}">`)
    })
  })

/** Collapses long tables: chapters of the security requirements, and objects of the API reference. */
const withFolds = (html: string): string =>
  html.replaceAll(FOLDED, (_, heading: string, kind: string, table: string) => {
    const count = table.split('<tr>').length - 2
    return `${heading}<details><summary>${count} ${kind === 'object' ? 'fields' : 'requirements'}</summary>${table}</details>`
  })

const FOLDED = /(<h2 id="(?:v\d[^"]*|[^"]*-(object))">[^\n]*<\/h2>\n(?:<p>[^\n]*<\/p>\n)?)(<table[^]*?<\/table>)/g

/** Fields with an example, which wide screens show beside them. */
const withAnswers = (html: string): string =>
  html.replaceAll(ANSWER, (whole, _, code?: string) => (code ? `<div class="fields-and-code">${whole}</div>` : whole))

const ANSWER = /(<table class="table of-fields">[^]*?<\/table>)(\s*<figure class="code">[^]*?<\/figure>)?/g

/** In a table, code of this length can break into lines. */
const LONG_CELL = 18
/** Elsewhere, code up to this length doesn't break, because it fits into a line of a phone. */
const LINE = 30

/** Where long code can break, except inside placeholders of IDs. */
export const BREAKS = /(?<=[_/.:,=-])(?<!\b(?:APP|SITE)_)(?=\w)/g

const CODE = /(?<!<pre>)<code>([^<]*)<\/code>/g

const withBreaks = (html: string): string =>
  html
    .split(/(<table>[^]*?<\/table>)/)
    .map((part) => part.replaceAll(CODE, (_, code: string) => breakCode(code, part.startsWith('<table>'))))
    .join('')

function breakCode(code: string, isInTable: boolean): string {
  if (isInTable) return `<code>${code.length < LONG_CELL ? code : code.replaceAll(BREAKS, '<wbr>')}</code>`
  if (code.length <= LINE) return `<code class="unbroken">${code}</code>`
  return `<code>${code.replaceAll(/\S+/g, (word) => (word.length > LINE ? word.replaceAll(BREAKS, '<wbr>') : word))}</code>`
}

function partsOf(html: string): Part[] {
  return html.split(/(?=<h[23] id=")/).map((part) => {
    const [heading = '', id = '', text = ''] = /^<h[23] id="([^"]*)">(.*?)<\/h[23]>/.exec(part) ?? []
    return { id, text: textOf(text), body: textOf(tableText(part.slice(heading.length))) }
  })
}

/** Cells of a row as one sentence, without the names of columns. */
const tableText = (html: string): string =>
  html
    .replaceAll(/<thead>[^]*?<\/thead>/g, '')
    .replaceAll(/<\/td><td>(?!<\/td>)/g, ' – ')
    .replaceAll(/\.?<\/td><\/tr>/g, '. ')

const textOf = (html: string): string =>
  unescapeHtml(html.replaceAll(/<\/?(?:code|em|strong|a|wbr)\b[^>]*>/g, '').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\{samples:[\w.-]+\}/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

const ENTITIES = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['amp', '&'],
  ['#39', "'"],
])

const unescapeHtml = (html: string): string =>
  html.replaceAll(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => ENTITIES.get(name) ?? '')

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[character] ?? ''};`)

export const PLACEHOLDER_VALUES = { appId: EXAMPLE_VALUES.app_id, siteId: 'SITE_ID', homeUrl: EXAMPLE_VALUES.home_url }
