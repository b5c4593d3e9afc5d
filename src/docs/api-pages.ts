/** The API reference: pages in Markdown, written from openapi.json. */
import { row, table } from './markdown.ts'
import { type DocPage, toPage } from './page.ts'
import { bounceSample, type CodeSample, requestSamples } from './request-samples.ts'
import { EXAMPLE_VALUES, PAGE_SAMPLES } from './samples.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  anyOf?: Schema[]
  not?: Schema
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
  maxProperties?: number
}
type Content = { 'application/json'?: { schema: Schema; example?: object } }
type Parameter = { name: string; in: string; required: boolean; description: string; schema: Schema; example?: unknown }
type Operation = {
  operationId: string
  summary: string
  description?: string
  security?: object[]
  parameters: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content: Content }>
}
type Schemas = Record<string, Schema>
type Call = { method: string; path: string; operation: Operation }

/** What the reference reads of openapi.json. */
export type ApiDescription = {
  info: { version: string; description: string }
  components: { schemas: Record<string, object> }
  paths: Record<string, Record<string, object>>
}

/** One page per call, one for errors and limits, and an overview. */
export function createApiPages({ info, paths, components }: ApiDescription): DocPage[] {
  const schemas = components.schemas as Schemas
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Call => ({
      method: method.toUpperCase(),
      path,
      operation: operation as Operation,
    })),
  )
  const rows = calls.map((call) =>
    row([`\`${endpointOf(call)}\``, `[${call.operation.summary}](/docs/${slugOf(call)})`]),
  )
  const [errors, others] = splitGuide(info.description)
  return [
    toPage('api', overview(info.version, rows, others), PAGE_SAMPLES),
    ...calls.map((call) => toPage(slugOf(call), callMarkdown(call, schemas), samplesOf(call))),
    toPage(
      ERRORS,
      `# Error codes\n\nWhat each status and code means, and how many requests you can send.\n\n${errors}\n`,
      new Map(),
    ),
  ]
}

const ERRORS = 'api/errors'

/** `api/post-events-batch` of `postEventsBatch`. */
const slugOf = ({ operation: { operationId } }: Call): string =>
  `api/${operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const endpointOf = ({ method, path }: Call): string => `${method} ${path}`

/** The sections on errors and limits, and the others. */
function splitGuide(description: string): [errors: string, others: string] {
  const sections = description.split(/^(?=## )/m)
  const isAbout = (section: string): boolean => /^## (Errors|Limits)\n/.test(section)
  return [sections.filter(isAbout).join(''), sections.filter((section) => !isAbout(section)).join('')]
}

const overview = (version: string, rows: string[], guide: string): string =>
  `${[
    '# API overview',
    `The HTTP API, version ${version}: JSON over HTTPS, with an API key.`,
    '## Calls',
    table(['Call', 'Does'], rows),
    `This reference is also available as [openapi.json](/api/v1/openapi.json). See [error codes](/docs/${ERRORS}) for what errors mean.`,
    '## Authentication',
    'Send JSON with `Content-Type: application/json` and an API key as `Authorization: Bearer mc_...`. Create a key on the API keys page or with `eventpost key create`. Call from your server only: anyone who has the key can send events and add people. Use a timeout of 10 seconds and log failures, so that Eventpost never slows down or breaks your service.',
    guide.trim(),
  ].join('\n\n')}\n`

function callMarkdown(call: Call, schemas: Schemas): string {
  const { summary, description, parameters, requestBody, responses } = call.operation
  const schema = resolveSchema(requestBody?.content['application/json']?.schema, schemas)
  return `${[
    `# ${summary}`,
    endpointOf(call),
    ...(description ? [description] : []),
    ...exampleOf(call),
    ...(parameters.length > 0
      ? ['## Parameters', table(['Name', 'Type', 'Meaning'], parameters.map(parameterRow))]
      : []),
    ...(schema ? ['## Body', table(['Field', 'Type', 'Meaning'], fieldRows(schema, needOf(schema)))] : []),
    ...answersOf(call.operation, schemas),
    '## Errors',
    table(['Status', 'Codes'], failuresOf(responses).map(errorRow)),
    `See [Error codes](/docs/${ERRORS}) for the meaning of each code.`,
    ...objects(call, schemas),
  ].join('\n\n')}\n`
}

const nameOf = ($ref: string): string => $ref.replace('#/components/schemas/', '')

const resolveSchema = (schema: Schema | undefined, schemas: Schemas): Schema | undefined =>
  schema?.$ref === undefined ? schema : schemas[nameOf(schema.$ref)]

type Need = (name: string) => string

const needOf = ({ required = [], not }: Schema): Need => {
  const either = Object.keys(not?.properties ?? {})
  return (name) => (required.includes(name) ? ', required' : either.includes(name) ? ', one of the two required' : '')
}

/** All warnings are on one page. */
const WARNINGS = 'What had no effect. [All codes](/docs/events#warnings).'

/** Of fields whose schemas have a name, and so no description of their own. */
const MEANINGS = new Map([
  ['error', `A stable code for programs. [All codes](/docs/${ERRORS}).`],
  ['contact', 'The person, as stored now.'],
  ['delivery', 'The delivery, as stored now.'],
])

const meaningOf = (name: string, { description, const: value }: Schema): string =>
  name === 'warnings'
    ? WARNINGS
    : (description ?? MEANINGS.get(name) ?? (value === true ? 'The request succeeded.' : ''))

const fieldRows = ({ properties = {} }: Schema, needOfField: Need = () => ''): string[] =>
  Object.entries(properties).map(([name, field]) =>
    row([`\`${name}\``, typeOf(field) + needOfField(name), meaningOf(name, field)]),
  )

const parameterRow = ({ name, in: where, required, description, schema }: Parameter): string =>
  row([`\`${name}\``, `${typeOf(schema)}, in the ${where}${required ? ', required' : ''}`, description])

const errorRow = ([status, { description }]: [string, { description: string }]): string => {
  const codes = Array.from(description.matchAll(/^`\w+`/gm), ([code]) => code)
  return row([status, [...new Set(codes)].join(', ')])
}

/** Examples name one app and one site; readers see their own. */
const withPlaceholders = (text: string): string =>
  text.replaceAll(/\bapp_[0-9a-z]{12,}/g, 'APP_ID').replaceAll(/\bsite_[0-9a-z]{12,}/g, 'SITE_ID')

const json = (value: object): string => `\`\`\`json\n${withPlaceholders(JSON.stringify(value, null, 2))}\n\`\`\``

const takesKey = ({ operation }: Call): boolean => operation.security === undefined

function exampleOf(call: Call): string[] {
  if (takesKey(call) || call.path === BOUNCES || call.path === VISITS) return ['{samples:request}']
  const sent = call.operation.requestBody?.content['application/json']?.example
  return sent ? [json(sent)] : []
}

function answersOf({ responses }: Operation, schemas: Schemas): string[] {
  return successesOf(responses).flatMap(([status, { description, content }], index) => {
    const { schema, example } = content['application/json'] ?? {}
    const answer = resolveSchema(schema, schemas)
    const fields = index === 0 ? fieldRows(answer ?? {}) : []
    return [
      `## Response ${status}`,
      answer?.anyOf
        ? `${description} Returns a ${typeOf(answer)}.`
        : index > 0
          ? `${description} The fields are the same.`
          : [description, answer?.description ?? []].flat().join(' '),
      ...(example && index === 0 ? [json(example)] : []),
      ...(fields.length > 0 ? [table(['Field', 'Type', 'Meaning'], fields)] : []),
    ]
  })
}

const IS_SUCCESS = /^2/

const successesOf = (responses: Operation['responses']) =>
  Object.entries(responses).filter(([status]) => IS_SUCCESS.test(status))
const failuresOf = (responses: Operation['responses']) =>
  Object.entries(responses).filter(([status]) => !IS_SUCCESS.test(status))

/** Sections for the objects inside the body and the answers. */
function objects({ operation: { requestBody, responses } }: Call, schemas: Schemas): string[] {
  const contents = [requestBody?.content, ...successesOf(responses).map(([, { content }]) => content)]
  const found = new Set<string>()
  const add = (schema: Schema): void => {
    for (const name of namesIn(schema)) {
      const inner = schemas[name]
      if (!inner || found.has(name)) continue
      found.add(name)
      add(inner)
    }
  }
  for (const content of contents) add(resolveSchema(content?.['application/json']?.schema, schemas) ?? {})
  return [...found].flatMap((name) => {
    const schema = schemas[name] ?? {}
    const rows = rowsOfObject(schema)
    if (rows.length === 0 || name === 'Warning') return []
    return [
      `## ${name} object`,
      ...(schema.description ? [schema.description] : []),
      table(['Field', 'Type', 'Meaning'], rows),
    ]
  })
}

/** An object that comes in several forms has the fields of all of them. */
const rowsOfObject = (schema: Schema): string[] => {
  const forms = [schema, ...(schema.anyOf ?? [])]
  const fields = new Map<string, Schema[]>()
  for (const [name, field] of forms.flatMap(({ properties = {} }) => Object.entries(properties)))
    fields.set(name, [...(fields.get(name) ?? []), field])
  const properties = Object.fromEntries([...fields].map(([name, variants]) => [name, uniteSchemas(variants)]))
  return fieldRows({ properties }, schema.not ? needOf(schema) : undefined)
}

/** One field, whose value differs by form. */
function uniteSchemas(variants: Schema[]): Schema {
  const [first = {}, ...others] = [...new Map(variants.map((one) => [JSON.stringify(one), one])).values()]
  if (others.length === 0) return first
  const all = [first, ...others]
  const description = [...new Set(all.flatMap((one) => one.description ?? []))].join(' ')
  return { description, anyOf: all.flatMap((one) => one.anyOf ?? [one]) }
}

const namesIn = (schema: Schema): string[] =>
  Array.from(JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name = '']) => name)

const BOUNCES = '/hooks/bounces/{app}'
const VISITS = '/c'

function samplesOf(call: Call): ReadonlyMap<string, CodeSample[]> {
  if (call.path === BOUNCES) return new Map([['request', [bounceCode(call)]]])
  if (call.path === VISITS) return new Map([['request', [visitCode(call)]]])
  return takesKey(call) ? new Map([['request', requestSamples(requestOf(call))]]) : new Map()
}

function requestOf({ method, path, operation: { parameters, requestBody } }: Call) {
  const body = requestBody?.content['application/json']?.example
  const query = parameters.flatMap(({ name, example }) =>
    example === undefined ? [] : [`${name}=${encodeURIComponent(String(example))}`],
  )
  const url = withPlaceholders(`{base_url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`)
  const text = withPlaceholders(JSON.stringify(body ?? null)).replaceAll(EXAMPLE_VALUES.home_url, '{home_url}')
  return { method, url, body: body && (JSON.parse(text) as object) }
}

function bounceCode({ path, operation }: Call): CodeSample {
  const body = JSON.stringify(operation.requestBody?.content['application/json']?.example)
  const code = bounceSample(`{base_url}${path.replace('{app}', 'APP_ID')}`, body)
  return { id: 'curl', name: 'curl', blocks: [{ label: 'Request', code }] }
}

/** The email is signed in the shell. */
function visitCode({ path, operation }: Call): CodeSample {
  const sent = operation.requestBody?.content['application/json']?.example ?? {}
  const [before = '', after = ''] = withPlaceholders(JSON.stringify({ ...sent, signature: '$' })).split('$')
  const email = 'email' in sent ? sent.email : ''
  const code = `signature=$(printf %s '${email}' | openssl dgst -sha256 -hmac "$SERVICE_IDENTITY_SECRET" | sed 's/^.* //')
curl -sS --max-time 10 '{base_url}${path}' \\
  -H 'Content-Type: text/plain' \\
  -d '${before}'"$signature"'${after}'`
  return { id: 'curl', name: 'curl', blocks: [{ label: 'Request', code }] }
}

function typeOf(schema: Schema): string {
  const { type, anyOf, items, $ref, const: only } = schema
  if ($ref !== undefined) return describeRef(nameOf($ref))
  if (anyOf?.every((one) => one.const !== undefined))
    return `one of ${anyOf.map((one) => `\`${one.const}\``).join(', ')}`
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (items) return [`array of ${typeOf(items)}`, ...boundsOf(schema)].join(', ')
  if (only !== undefined) return `\`${only}\``
  return [Array.isArray(type) ? type.join(' or ') : (type ?? 'value'), ...boundsOf(schema)].join(', ')
}

const describeRef = (name: string): string =>
  name === 'ErrorCode'
    ? `[error code](/docs/${ERRORS})`
    : `[${name} object](${name === 'Warning' ? '/docs/events#warnings' : `#${name.toLowerCase()}-object`})`

function boundsOf({ minLength, maxLength, minimum, maximum, maxItems, maxProperties }: Schema): string[] {
  if (maximum !== undefined) return [`${minimum ?? 0} to ${maximum}`]
  if (maxItems !== undefined) return [`up to ${maxItems} items`]
  if (maxProperties !== undefined) return [`up to ${maxProperties} keys`]
  if (maxLength === undefined) return []
  return [minLength ? `${minLength} to ${maxLength} characters` : `up to ${maxLength} characters`]
}
