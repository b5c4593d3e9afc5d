/** One operation of openapi.json as Markdown. */
import { row, table } from './markdown.ts'

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
}
type Content = { 'application/json'?: { schema: Schema; example?: object } }
type Parameter = { name: string; in: string; required: boolean; description: string; schema: Schema; example?: string }
export type Operation = {
  summary: string
  description?: string
  parameters: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content: Content }>
}

const IS_SUCCESS = /^2/

export function callMarkdown(
  method: string,
  path: string,
  { operation, schemas }: { operation: Operation; schemas: Record<string, Schema> },
): string {
  const { summary, description, parameters, requestBody, responses } = operation
  const schema = resolveSchema(requestBody?.content['application/json']?.schema, schemas)
  return [
    `## ${method.toUpperCase()} ${path}`,
    `${summary}.`,
    ...(description ? [description] : []),
    ...(schema ? ['### Body', table(['Field', 'Type', 'Meaning'], fieldRows(schema))] : []),
    ...(parameters.length > 0
      ? ['### Parameters', table(['Name', 'Where', 'Meaning'], parameters.map(parameterRow))]
      : []),
    '### Example',
    exampleOf(method, path, operation),
    '### Answers',
    table(['Status', 'What'], Object.entries(responses).map(answerRow)),
  ].join('\n\n')
}

const resolveSchema = (schema: Schema | undefined, schemas: Record<string, Schema>): Schema | undefined =>
  schema?.$ref === undefined ? schema : schemas[schema.$ref.replace('#/components/schemas/', '')]

const fieldRows = ({ properties = {}, required = [], ...schema }: Schema): string[] => {
  const either = Object.keys(schema.not?.properties ?? {})
  return Object.entries(properties).map(([name, field]) => {
    const need = required.includes(name) ? ', required' : either.includes(name) ? ', one of the two required' : ''
    return row([`\`${name}\``, `${typeOf(field)}${need}`, field.description ?? ''])
  })
}

const parameterRow = ({ name, in: where, required, description, schema }: Parameter): string =>
  row([`\`${name}\``, `${where}, ${typeOf(schema)}${required ? ', required' : ''}`, description])

/** Refusals as codes; the section on errors has the messages. */
const answerRow = ([status, { description }]: [string, { description: string }]): string => {
  const codes = Array.from(description.matchAll(/^`\w+`/gm), ([code]) => code)
  return row([status, IS_SUCCESS.test(status) ? description : [...new Set(codes)].join(', ')])
}

function exampleOf(method: string, path: string, { parameters, requestBody, responses }: Operation): string {
  const sent = requestBody?.content['application/json']?.example
  const query = parameters.flatMap(({ name, example }) => (example === undefined ? [] : [`${name}=${example}`]))
  const [status = '', answered] = Object.entries(responses).find(([code]) => IS_SUCCESS.test(code)) ?? []
  const answer = answered?.content['application/json']?.example
  const asked = sent ? pretty(sent) : `${method.toUpperCase()} ${path}?${query.join('&')}`
  return [fence(asked), `Answered ${status}:`, fence(pretty(answer ?? {}))].join('\n\n')
}

const pretty = (value: object): string => JSON.stringify(value, null, 2)
const fence = (text: string): string => `\`\`\`\n${text}\n\`\`\``

function typeOf(schema: Schema): string {
  const { type, anyOf, items, $ref } = schema
  if ($ref !== undefined) return 'object'
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (items) return `array of ${typeOf(items)}`
  return [Array.isArray(type) ? type.join(' or ') : (type ?? 'value'), ...boundsOf(schema)].join(', ')
}

function boundsOf({ minLength, maxLength, minimum, maximum }: Schema): string[] {
  if (maximum !== undefined) return [`${minimum ?? 0} to ${maximum}`]
  if (maxLength === undefined) return []
  return [minLength ? `${minLength} to ${maxLength} characters` : `up to ${maxLength} characters`]
}
