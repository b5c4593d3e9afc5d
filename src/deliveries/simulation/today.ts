import { propertyOf } from '../../store/conditions.ts'
import type { MessageContent, Rule } from '../../store/message-types.ts'
import type { PersonFacts, PersonRow } from '../../store/simulation-people.ts'
import type { SimulationReads } from '../../store/simulation-reads.ts'
import type { Facts } from '../judge.ts'
import { NAMELESS, shapeOf, variablesOf } from './shapes.ts'
import type { People } from './triggers.ts'

type Someone = Facts['contact']

/** One of those of whom a mail finds the same values there. */
export type Alike = { shape: string; person: PersonFacts }
/** `ids`: of all whom it stands for. */
type Entry = { contact: Someone; alike: Alike; ids: number[] }

type Reads = Pick<SimulationReads, 'eachPersonOf' | 'eachUnwillingOf'>
type Asked = { content: MessageContent; people: People }

const SUBSCRIBED: Someone = { status: 'subscribed', tags: [], fields: {} }

/** What is stored of people today, as far as a message asks. */
export type Today = ReturnType<typeof readToday>

/**
 * Reads it for all at once. Those of whom a message can tell no difference share one entry,
 * so that a million need little room.
 */
export function readToday(reads: Reads, { content, people }: Asked) {
  const asked = listAsked(content)
  const { tags, fields, ofPeople } = asked
  const isAsked = tags.length > 0 || fields.length > 0 || ofPeople.length > 0
  return isAsked ? readEntries(reads, people.ids, asked) : readStatus(reads, people.ids)
}

/** Of most messages nothing else is asked. */
function readStatus(reads: Reads, ids: readonly number[]) {
  const unwilling = new Map<number, Someone>()
  for (const { id, status } of reads.eachUnwillingOf(ids)) {
    unwilling.set(id, { ...SUBSCRIBED, status })
  }
  const alike: Alike = { shape: '', person: NAMELESS }
  return {
    contactOf: (contactId: number): Someone => unwilling.get(contactId) ?? SUBSCRIBED,
    alikeOf: (): Alike | null => alike,
  }
}

type Values = { tags: string[]; fields: string[]; ofPeople: string[][] }

const listAsked = ({ onlyIf = [], mail }: MessageContent): Values => ({
  tags: onlyIf.filter((rule) => rule.rule === 'tag').map(tagOf),
  fields: onlyIf.filter((rule) => rule.rule === 'field').map(({ field }) => field),
  ofPeople: variablesOf(mail)?.ofPeople ?? [],
})

const tagOf = (rule: Extract<Rule, { rule: 'tag' }>): string => ('has' in rule ? rule.has : rule.lacks)

function readEntries(reads: Reads, ids: readonly number[], asked: Values) {
  const groups = new Map<string, Entry>()
  const asks = (name: string) => asked.ofPeople.some(([, asked]) => asked === name)
  const columns = { tags: asked.tags.length > 0 || asks('tags'), fields: asked.fields.length > 0 || asks('fields') }
  for (const person of reads.eachPersonOf(ids, columns)) {
    const shape = shapeOf(asked.ofPeople, () => person)
    const key = `${person.status} ${shape} ${valuesOf(person, asked)}`
    const known = groups.get(key)
    if (known) known.ids.push(person.id)
    else groups.set(key, toEntry(person, asked, shape))
  }
  // most are alike: only those who are not have to be found
  const [usual = null, ...unusual] = Array.from(groups.values()).toSorted((a, b) => b.ids.length - a.ids.length)
  const others = new Map<number, Entry>()
  for (const entry of unusual) for (const id of entry.ids) others.set(id, entry)
  const find = (contactId: number): Entry | null => others.get(contactId) ?? usual
  return {
    /** With the tags and fields that rules ask for. */
    contactOf: (contactId: number): Someone => find(contactId)?.contact ?? SUBSCRIBED,
    alikeOf: (contactId: number): Alike | null => find(contactId)?.alike ?? null,
  }
}

/** Of the tags and fields that rules ask for. */
function valuesOf({ tags, fields }: PersonRow, asked: Values): string {
  const has = asked.tags.map((tag) => tags?.includes(tag) ?? false)
  const values = asked.fields.map((field) => propertyOf(fields ?? {}, field))
  return has.length + values.length === 0 ? '' : JSON.stringify([has, values])
}

function toEntry(person: PersonRow, asked: Values, shape: string): Entry {
  const { status, tags, fields } = person
  const contact = {
    status,
    tags: tags?.filter((tag) => asked.tags.includes(tag)) ?? [],
    fields: Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => asked.fields.includes(name))),
  }
  return { contact, alike: { shape, person }, ids: [person.id] }
}
