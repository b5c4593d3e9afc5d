/** @jsxImportSource preact */
import { publicId } from '../../core/ids.ts'
import { type ChosenTopic, readChoice } from '../../people/topics.ts'
import type { FormInput } from '../layout/forms.ts'

/** The checkbox of a topic in a form. */
const fieldOf = ({ id }: Pick<ChosenTopic, 'id'>): string => publicId('top', id)

const shownOf = (topic: Pick<ChosenTopic, 'id'>): string => `${fieldOf(topic)}.shown`

/** Marks the topics on the form, so that a topic added since is not ended. */
export const readTopics = (topics: readonly ChosenTopic[], form: FormInput) =>
  readChoice(
    topics.filter((topic) => form.text(shownOf(topic)) !== ''),
    (topic) => form.text(fieldOf(topic)) !== '',
  )

type FieldsProps = { label?: string; topics: readonly ChosenTopic[]; isLocked: (topic: ChosenTopic) => boolean }

/** Which topics a person wants emails about. */
export const TopicFields = ({ label = 'Topics', topics, isLocked }: FieldsProps) => (
  <fieldset class="field">
    <legend class="unseen">{label}</legend>
    {topics.map((topic) => (
      <label key={topic.id} class="option">
        <input type="hidden" name={shownOf(topic)} value="1" />
        <input type="checkbox" name={fieldOf(topic)} checked={topic.end === null} disabled={isLocked(topic)} />
        <span>
          <bdi>{topic.name}</bdi>
          {topic.description !== null && (
            <span class="hint">
              <bdi>{topic.description}</bdi>
            </span>
          )}
        </span>
      </label>
    ))}
  </fieldset>
)
