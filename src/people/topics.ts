/** Which topics of an app's emails a person wants. */
import type { Clock } from '../core/clock.ts'
import type { HandOvers, StoppedEmails } from '../core/hand-overs.ts'
import type { RefusalCode } from '../core/refusals.ts'
import type { Store } from '../store/store.ts'
import type { EndedTopic, Topic, TopicChoice, TopicRules } from '../store/topics.ts'
import type { AppRow } from '../store/types.ts'

/** `end`: when the person ended it, and who did that; null: they get its emails. */
export type ChosenTopic = Topic & { end: EndedTopic | null }

/** People can take back what they chose themselves; a link in an email may be forwarded. */
export const mayResume: TopicRules['mayResume'] = (ended, actor) => actor !== null || ended.actor === null

/** By name. */
export const listChosenTopics = async (store: Store, app: Pick<AppRow, 'id'>, email: string): Promise<ChosenTopic[]> =>
  withEnds(store, { appId: app.id, email }, await store.listTopics(app.id))

export async function withEnds<Listed extends Topic>(
  store: Store,
  { appId, email }: { appId: number; email: string },
  topics: readonly Listed[],
): Promise<(Listed & Pick<ChosenTopic, 'end'>)[]> {
  if (topics.length === 0) return []
  const ended = new Map((await store.listEndedTopics(appId, email)).map((one) => [one.topic, one]))
  return topics.map((topic) => ({ ...topic, end: ended.get(topic.name) ?? null }))
}

/** Each topic of a form: on, or off. */
export const readChoice = (
  topics: readonly ChosenTopic[],
  isOn: (topic: ChosenTopic) => boolean,
): Pick<TopicChoice, 'end' | 'resume'> => ({
  end: topics.filter((topic) => topic.end === null && !isOn(topic)).map(({ name }) => name),
  resume: topics.filter((topic) => topic.end !== null && isOn(topic)).map(({ name }) => name),
})

/** Repeatable. Resolves when saved and mail servers have answered. Refusals: unavailable, commit_unconfirmed. */
export async function chooseTopics(
  { store, clock, mailer }: { store: Store; clock: Pick<Clock, 'now'>; mailer: HandOvers },
  choice: Omit<TopicChoice, 'at'>,
): Promise<StoppedEmails | { refusal: RefusalCode }> {
  const outcome = await store.chooseTopics({ ...choice, at: clock.now() })
  if ('refusal' in outcome && outcome.refusal !== 'not_found') return outcome
  return { stillSending: choice.end.length === 0 ? 0 : await mailer.waitForReplies({ contactId: choice.contactId }) }
}

/** For exports. */
export const topicView = ({ name, end }: ChosenTopic) => ({
  name,
  isOn: end === null,
  endedAt: end && new Date(end.endedAt).toISOString(),
})
