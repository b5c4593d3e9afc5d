/** The API reference: pages in Markdown, written from openapi.json. */
import { formatCount } from '../core/count.ts'
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

/** An overview, and one page per call. */
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
  const common = findCommon(calls)
  return [
    toPage('api', overview(info, rows, common), PAGE_SAMPLES),
    ...calls.map((call) => toPage(slugOf(call), callMarkdown(call, schemas, common), samplesOf(call))),
  ]
}

/** `api/post-events-batch` of `postEventsBatch`. */
const slugOf = ({ operation: { operationId } }: Call): string =>
  `api/${operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const endpointOf = ({ method, path }: Call): string => `${method} ${path}`

/** Codes by status. */
type Failures = Map<string, string[]>

/** What each call with a key and a body can return. */
function findCommon(calls: Call[]): Failures {
  const all = calls.filter((call) => takesKey(call) && isRepeatable(call)).map(failuresOf)
  const [first = new Map<string, string[]>(), ...others] = all
  return withoutCodes(first, (status, code) => !others.every((one) => one.get(status)?.includes(code)))
}

const withoutCodes = (failures: Failures, isOut: (status: string, code: string) => boolean): Failures =>
  new Map(
    Array.from(failures, ([status, codes]): [string, string[]] => [
      status,
      codes.filter((code) => !isOut(status, code)),
    ]).filter(([, codes]) => codes.length > 0),
  )

/** Of the general part, only what no guide says. */
const versionsIn = (description: string): string =>
  description
    .split(/^(?=## )/m)
    .filter((section) => section.startsWith('## Versions\n'))
    .join('')

/** The general part of openapi.json says it too. */
export const CHECK_ORDER =
  "A request is checked in this order: key (401), scope (403), type and size (415, 413), fields (400), app (404), limit (429), person or delivery (404), plan (403). Requests that fail before the limit don't count towards it."

const overview = ({ version, description }: ApiDescription['info'], rows: string[], common: Failures): string =>
  `${[
    '# API overview',
    `The HTTP API, version ${version}: JSON over HTTPS, with an API key.`,
    table(['Call', 'Does'], rows),
    `This reference is also available as [openapi.json](/api/v1/openapi.json). Calls name the app in the field \`${APP}\`, which you can also send as \`${OTHER_APP}\`. If you send both, they must be the same.`,
    '## Authentication',
    'Send JSON with `Content-Type: application/json` and an API key as `Authorization: Bearer mc_...`. Create a key on the API keys page or with `eventpost key create`. Call the API only from your server: anyone who has the key can send events, add people and, unless its scope is `ingest`, email them. Use a timeout of 10 seconds and log failures, so that Eventpost never slows down or breaks your service.',
    '## Errors',
    CHECK_ORDER,
    'Every call with an API key can return these errors. Those about JSON, size and Idempotency-Keys apply only to calls with a body.',
    table(['Status', 'Codes'], Array.from(common, errorRow)),
    'See [Errors](/docs/errors) for what they mean, [Limits](/docs/limits) for how much you can send, and [Retries](/docs/retries) for how to send a write again.',
    versionsIn(description).trim(),
  ].join('\n\n')}\n`

function callMarkdown(call: Call, schemas: Schemas, common: Failures): string {
  const { summary, description, requestBody } = call.operation
  const parameters = call.operation.parameters.filter(({ name }) => name !== ONCE_KEY && name !== OTHER_APP)
  const retrying = `With an \`${ONCE_KEY}\` header, you can [retry safely](/docs/retries).`
  const about = [description ?? [], isRepeatable(call) ? retrying : []].flat().join(' ')
  const failures = failuresOf(call)
  const own = takesKey(call)
    ? withoutCodes(failures, (status, code) => common.get(status)?.includes(code) ?? false)
    : failures
  const schema = resolveSchema(requestBody?.content['application/json']?.schema, schemas)
  return `${[
    `# ${summary}`,
    endpointOf(call),
    ...(about ? [about] : []),
    ...exampleOf(call),
    ...(parameters.length > 0
      ? ['## Parameters', table(['Name', 'Type', 'Meaning'], parameters.map(parameterRow))]
      : []),
    ...(schema ? ['## Body', ...bodyOf(schema)] : []),
    ...answersOf(call.operation, schemas),
    '## Errors',
    ...(own.size > 0 ? [table(['Status', 'Codes'], Array.from(own, errorRow))] : []),
    takesKey(call)
      ? `This call ${own.size > 0 ? 'can also return' : 'returns only'} the [common errors](/docs/api#errors). [What each code means](/docs/errors).`
      : '[What each code means](/docs/errors).',
    ...objects(call, schemas),
  ].join('\n\n')}\n`
}

/** Some bodies have no known fields, only a description. */
function bodyOf(schema: Schema): string[] {
  const rows = fieldRows(schema, needOf(schema))
  return rows.length > 0 ? [table(['Field', 'Type', 'Meaning'], rows)] : [schema.description ?? []].flat()
}

const nameOf = ($ref: string): string => $ref.replace('#/components/schemas/', '')

const resolveSchema = (schema: Schema | undefined, schemas: Schemas): Schema | undefined =>
  schema?.$ref === undefined ? schema : schemas[nameOf(schema.$ref)]

type Need = (name: string) => string

const needOf = ({ required = [], not }: Schema): Need => {
  const either = Object.keys(not?.properties ?? {})
  return (name) => (required.includes(name) || either.includes(name) ? ', required' : '')
}

/** Either is accepted; pages show only the first. */
const [APP, OTHER_APP] = ['app', 'newsletter']

const ONCE_KEY = 'Idempotency-Key'

const isRepeatable = ({ operation }: Call): boolean => operation.parameters.some(({ name }) => name === ONCE_KEY)

/** All warnings are on one page. */
const WARNINGS = 'What to check. [All codes](/docs/events#warnings).'

/** Of fields whose schemas have a name, and so no description of their own. */
const MEANINGS = new Map([
  ['error', 'A stable code for programs. [All codes](/docs/errors).'],
  ['contact', 'The person, as stored now.'],
  ['person', 'The person, as stored now.'],
  ['delivery', 'The delivery, as stored now.'],
  ['message', 'The message.'],
  ['results', 'Its results for the last 30 days.'],
  ['mail', 'The email as it would be sent.'],
  ['simulation', 'The totals of the simulation.'],
])

const meaningOf = (name: string, { description, const: value }: Schema): string =>
  name === 'warnings' && description?.includes('unknown_field') === true
    ? WARNINGS
    : (description ?? MEANINGS.get(name) ?? (value === true ? 'The request succeeded.' : ''))

const fieldRows = ({ properties = {} }: Schema, needOfField: Need = () => ''): string[] =>
  Object.entries(properties)
    .filter(([name]) => name !== OTHER_APP)
    .map(([name, field]) => row([`\`${name}\``, typeOf(field) + needOfField(name), meaningOf(name, field)]))

const parameterRow = ({ name, in: where, required, description, schema }: Parameter): string =>
  row([`\`${name}\``, `${typeOf(schema)}, in the ${where}${required || name === APP ? ', required' : ''}`, description])

const errorRow = ([status, codes]: [string, string[]]): string => row([status, codes.join(', ')])

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

/** Several statuses have the same fields, with other values. */
function answersOf({ responses }: Operation, schemas: Schemas): string[] {
  const successes = Object.entries(responses).filter(([status]) => IS_SUCCESS.test(status))
  const { schema, example } = successes[0]?.[1].content['application/json'] ?? {}
  const answer = resolveSchema(schema, schemas)
  const answers = successes.flatMap(
    ([, { content }]) => resolveSchema(content['application/json']?.schema, schemas) ?? [],
  )
  const fields = answers.length > 1 ? rowsOfObject({ anyOf: answers }) : fieldRows(answer ?? {})
  const done = successes.map(([status, { description }]) =>
    successes.length > 1 ? `${status}: ${description}` : description,
  )
  return [
    `## Response ${successes.map(([status]) => status).join(' or ')}`,
    [...done, answer?.anyOf ? `Returns a ${typeOf(answer)}.` : (answer?.description ?? [])].flat().join(' '),
    ...(fields.length > 0 ? [table(['Field', 'Type', 'Meaning'], fields)] : []),
    ...(example ? [json(example)] : []),
  ]
}

const IS_SUCCESS = /^2/

function failuresOf({ operation: { responses } }: Call): Failures {
  const failures = Object.entries(responses).filter(([status]) => !IS_SUCCESS.test(status))
  return new Map(
    failures.map(([status, { description }]) => [
      status,
      [...new Set(Array.from(description.matchAll(/^`\w+`/gm), ([code]) => code))],
    ]),
  )
}

/** Sections for the objects inside the body and the answers. */
function objects({ operation: { requestBody, responses } }: Call, schemas: Schemas): string[] {
  const contents = [
    requestBody?.content,
    ...Object.entries(responses).flatMap(([status, { content }]) => (IS_SUCCESS.test(status) ? content : [])),
  ]
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
  const described = all.flatMap(({ description, const: value }) =>
    description === undefined ? [] : value === undefined ? description : `\`${value}\`: ${lowerFirst(description)}`,
  )
  const description = [...new Set(described)].join(' ')
  return { description, anyOf: all.flatMap((one) => one.anyOf ?? [one]) }
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

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
  const query = parameters.flatMap(({ name, in: where, example }) =>
    where !== 'query' || example === undefined ? [] : [`${name}=${encodeURIComponent(String(example))}`],
  )
  const named = path.replaceAll(/\{(\w+)\}/g, (written, name) => {
    const { example = written } = parameters.find((one) => one.in === 'path' && one.name === name) ?? {}
    return String(example)
  })
  const url = withPlaceholders(`{base_url}${named}${query.length > 0 ? `?${query.join('&')}` : ''}`)
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
    ? '[error code](/docs/errors)'
    : `[${name} object](${name === 'Warning' ? '/docs/events#warnings' : `#${name.toLowerCase()}-object`})`

function boundsOf({ minLength, maxLength, minimum, maximum, maxItems, maxProperties }: Schema): string[] {
  if (maximum !== undefined) return [`${minimum ?? 0} to ${formatCount(maximum)}`]
  if (maxItems !== undefined) return [`up to ${maxItems} items`]
  if (maxProperties !== undefined) return [`up to ${maxProperties} keys`]
  if (maxLength === undefined) return []
  const most = `${formatCount(maxLength)} characters`
  return [minLength ? `${minLength} to ${most}` : `up to ${most}`]
}
