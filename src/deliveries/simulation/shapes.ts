/** Which values the mails of a message ask for, and which of them are there: for a simulation. */
import { propertyOf } from '../../store/conditions.ts'
import type { Mail } from '../../store/message-types.ts'
import type { PersonFacts } from '../../store/simulation-people.ts'
import { cleanText } from '../../core/visible-text.ts'
import { listPlainVariables, type PlainVariable } from '../../messages/templates.ts'

/** Each as the names of its path; of people only what one may have and another lack. */
export type Variables = { ofPeople: string[][]; ofEvents: string[][] }

/** Somebody of whom nothing more is there than of everybody. */
export const NAMELESS: PersonFacts = {
  email: 'ada@example.com',
  firstName: null,
  lastName: null,
  tags: null,
  fields: null,
}
const NAMES = ['firstName', 'lastName']

export const listSources = ({ subject, preheader = '', body }: Mail): string[] => [subject, preheader, body]

/** Null where one of the templates is more than values. */
export function variablesOf(mail: Mail): Variables | null {
  const lists = listSources(mail).map(listPlainVariables)
  if (lists.some((list) => list === null)) return null
  const all = lists.flatMap((list) => list ?? [])
  const rootedIn = (root: string) => all.filter(({ path }) => path[0] === root)
  return {
    ofPeople: rootedIn('contact')
      .filter((variable) => !isAlwaysThere(variable))
      .map(({ path }) => path),
    ofEvents: rootedIn('event').map(({ path }) => path),
  }
}

/** An address, or a name with something to stand in its place. */
const isAlwaysThere = ({ path: [, name = ''], fallback }: PlainVariable): boolean =>
  name === 'email' || (NAMES.includes(name) && fallback !== null && cleanText(fallback) !== undefined)

/** Which values of a person or of an event are there, and of what kind. */
export function shapeOf(variables: readonly string[][], read: () => Record<string, unknown>): string {
  let shape = ''
  for (const path of variables) shape += `${kindOf(valueOf(path, read()))},`
  return shape
}

function valueOf([, name = '', field]: string[], values: Record<string, unknown>): unknown {
  const value = propertyOf(values, name)
  return field === undefined ? value : propertyOf((value ?? {}) as Record<string, unknown>, field)
}

/** Of most texts the first sign tells that they are not blank, in a tenth of the time. */
const VISIBLE = /^[!-~]/

/** Any text is as good as another that is not blank. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') return VISIBLE.test(value) || cleanText(value) !== undefined ? 'text' : '-'
  if (typeof value === 'number') return 'number'
  return JSON.stringify(value) ?? '-'
}
