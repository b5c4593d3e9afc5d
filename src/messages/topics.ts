/** What an app's messages are about. A message belongs to at most one topic, and people can end each. */
import { cleanText } from '../core/visible-text.ts'
import { checkWhole } from '../core/inputs.ts'
import { type FieldError, isRefusal, type Refusal, refuseFields } from '../core/refusals.ts'
import type { MessageContent } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, Refused } from '../store/types.ts'
import type { MessageChange } from '../store/messages.ts'
import { TopicSchema } from './message-schema.ts'

/** Few enough for people to choose from on one page. */
const MOST_TOPICS = 20
const MOST_DESCRIPTION = 200

const FULL = `An app can have at most ${MOST_TOPICS} topics. Use an existing one, or delete one under Sender, Topics.`

/** Saving a message also adds its topic to the app. */
export async function findTopicFaults(
  store: Pick<Store, 'listTopics'>,
  { id: appId }: Pick<AppRow, 'id'>,
  contents: readonly Pick<MessageContent, 'topic'>[],
): Promise<FieldError[]> {
  const named = contents.flatMap(({ topic }) => topic ?? [])
  if (named.length === 0) return []
  const known = (await store.listTopics(appId)).map(({ name }) => name)
  const all = new Set([...known, ...named])
  return all.size > Math.max(MOST_TOPICS, known.length) ? [{ field: 'topic', code: 'too_many', message: FULL }] : []
}

export type TopicText = { name: string; description: string }

const findNameFaults = checkWhole(TopicSchema)

function readTopic(
  text: TopicText,
): { input: { name: string; description: string | null } } | { errors: FieldError[] } {
  const name = text.name.trim()
  const description = text.description.trim()
  const isFit = description === '' || (description.length <= MOST_DESCRIPTION && cleanText(description) === description)
  const errors = [
    ...findNameFaults(name).map((error) => ({ ...error, field: 'name' })),
    ...(isFit ? [] : [{ field: 'description', code: 'invalid', message: ONE_LINE }]),
  ]
  return errors.length > 0 ? { errors } : { input: { name, description: description || null } }
}

const ONE_LINE = `Enter one line of up to ${MOST_DESCRIPTION} characters.`

/** Null `id`: a new one. Refusals: invalid_field, not_found. */
export async function saveTopic(
  store: Store,
  by: MessageChange,
  { id, text }: { id: number | null; text: TopicText },
): Promise<{ done: true } | Refusal | Refused> {
  const reading = readTopic(text)
  if ('errors' in reading) return refuseFields(reading.errors)
  const full = id === null ? await findTopicFaults(store, { id: by.appId }, [{ topic: reading.input.name }]) : []
  if (full.length > 0) return refuseFields(full.map((error) => ({ ...error, field: 'name' })))
  const outcome = await store.saveTopic({ ...by, id, ...reading.input })
  return isRefusal(outcome) && outcome.refusal === 'message_name_taken' ? refuseFields([TAKEN]) : outcome
}

const TAKEN = { field: 'name', code: 'exists', message: 'This app already has a topic with this name.' }
