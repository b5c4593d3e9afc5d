/** Compares answers with openapi.json. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020'
import { API, type TestServer } from '../helper.ts'

type Described = { content: { 'application/json': { schema: object } } }
export type Operation = {
  parameters?: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: object }[]
  requestBody?: { content: { 'application/json': { schema: object; example: object } } }
  responses: Record<string, Described>
}
export type Document = {
  components: { schemas: Record<string, object> }
  paths: Record<string, Record<string, Operation>>
}

export const readDocument = async (server: TestServer): Promise<Document> =>
  (await server.call('GET', `${API}/openapi.json`, { key: null })).body as unknown as Document

export const createAjv = (): Ajv2020 => {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, keywords: ['components'] })
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  return ajv
}

/** The same schemas, with properties that they do not name forbidden. */
export const close = (schemas: object): object =>
  JSON.parse(JSON.stringify(schemas), (_, value: Record<string, unknown> | null) =>
    typeof value?.properties === 'object' && value.type === 'object' && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value,
  )

/** What is wrong with an answer; null: nothing. Each schema is compiled once. */
export type FindFaults = (answer: {
  method: string
  path: string
  status: number
  body: unknown
}) => readonly ErrorObject[] | 'not described' | null

export function createFindFaults({ components, paths }: Document): FindFaults {
  const ajv = createAjv()
  const compiled = new Map<string, ValidateFunction>()
  return ({ method, path, status, body }) => {
    const schema = paths[path]?.[method.toLowerCase()]?.responses[status]?.content['application/json'].schema
    if (!schema) return 'not described'
    const text = JSON.stringify(schema)
    const validate = compiled.get(text) ?? ajv.compile(close({ ...schema, components }))
    compiled.set(text, validate)
    return validate(body) ? null : [...(validate.errors ?? [])]
  }
}
