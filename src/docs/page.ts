import type { CodeSample } from './request-samples.ts'
import { EXAMPLE_VALUES, fillSample } from './samples.ts'

export type Samples = ReadonlyMap<string, CodeSample[]>

/** `source` names its samples in paragraphs `{samples:NAME}`; in `markdown` they are code blocks. */
export type DocPage = {
  slug: string
  title: string
  summary: string
  source: string
  markdown: string
  samples: Samples
}

/** Title and summary come from the heading and the line below it. */
export function toPage(slug: string, source: string, samples: Samples): DocPage {
  const markdown = source.replaceAll(SAMPLES, (marker, indent: string, name: string) => {
    const found = samples.get(name)
    return found ? sampleMarkdown(found).replaceAll(/^(?=.)/gm, indent) : marker
  })
  const [, title = '', summary = ''] = /^# (.+)\n\n(.+)\n/.exec(source) ?? []
  return { slug, title, summary, source, markdown, samples }
}

/** On a line of its own; the code takes its indentation. */
const SAMPLES = /^( *)\{samples:([\w.-]+)\}$/gm

const FENCES = new Map([
  ['curl', 'sh'],
  ['shell', 'sh'],
  ['node', 'js'],
  ['browser', 'js'],
  ['yaml', 'yaml'],
  ['ini', 'ini'],
  ['haproxy', 'haproxy'],
])

/** Of many languages, Markdown has the two that others are easily written from. */
function sampleMarkdown(languages: CodeSample[]): string {
  const shown = languages.filter(({ id }) => FENCES.has(id))
  const others = languages.filter((one) => !shown.includes(one)).map(({ name }) => name)
  const blocks = shown.flatMap(({ id, name, blocks }) =>
    blocks.map(({ code }) => {
      const fence = `\`\`\`${FENCES.get(id)}\n${fillSample(code, EXAMPLE_VALUES)}\n\`\`\``
      return shown.length === 1 ? fence : `${name}:\n\n${fence}`
    }),
  )
  const rest = others.length > 0 ? [`Also on the page: ${others.join(', ')}.`] : []
  return [...blocks, ...rest].join('\n\n')
}

/** With the address of the installation, and tables that are not aligned: the longest is half blanks. */
export const writeDocPage = ({ markdown }: DocPage, baseUrl: string): string =>
  `${fillSample(markdown, { base_url: baseUrl }).replaceAll(TABLE_ROW, (row) => row.replaceAll(/ +\|/g, ' |').replaceAll(/-{3,}/g, '---'))}\n`

const TABLE_ROW = /^\|.*\|$/gm
