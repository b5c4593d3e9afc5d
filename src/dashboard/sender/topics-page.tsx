/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { publicId } from '../../core/ids.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { TopicText } from '../../messages/topics.ts'
import type { UsedTopic } from '../../store/topics.ts'
import { pathOf } from '../layout/frame.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { OneLine } from '../ui/text.tsx'
import { isOwner, type SenderFacts, SenderFrame } from './sender-frame.tsx'

/** What was typed; `errors` belong to its fields. */
export type ShownForm = { text: TopicText; errors: FieldError[]; notice?: string }

type PageProps = { facts: SenderFacts; form?: ShownForm }

const NO_TEXT: TopicText = { name: '', description: '' }

export const TopicsPage = ({ facts, topics, form }: PageProps & { topics: UsedTopic[] }) => {
  const path = pathOf(facts.viewer.app.publicId, 'sender/topics')
  return (
    <SenderFrame facts={facts} current="sender/topics" state={STATE} refused={form}>
      {topics.length === 0 ? (
        <EmptyState title="No topics yet">
          Without topics, people unsubscribe from everything. Add a topic here, then choose it in messages.
        </EmptyState>
      ) : (
        <div class="topics">
          <Table label="Topics" rows={topics} idOf={({ id }) => String(id)} columns={columnsOf(path)} isLinked />
        </div>
      )}
      {isOwner(facts.viewer) && (
        <section>
          <h2>Add a topic</h2>
          <Form action={path} errors={form?.errors} submit="Add topic">
            <TopicFormFields text={form?.text ?? NO_TEXT} />
          </Form>
        </section>
      )}
    </SenderFrame>
  )
}

const STATE = 'People can unsubscribe from a topic and still get other emails.'

const countMessages = (count: number): string =>
  count === 1 ? '1 message' : `${count === 0 ? 'No' : formatCount(count)} messages`

const columnsOf = (path: string): Column<UsedTopic>[] => [
  {
    name: 'Topic',
    cell: ({ id, name }) => (
      <a class="strong" href={`${path}/${publicId('top', id)}`}>
        <OneLine>{name}</OneLine>
      </a>
    ),
  },
  {
    name: 'Description',
    cell: ({ description }) => (description ? <OneLine>{description}</OneLine> : <span class="none" />),
  },
  { name: 'Used by', cell: ({ messages }) => countMessages(messages) },
]

const TopicFormFields = ({ text }: { text: TopicText }) => (
  <>
    <Field name="name" label="Name" hint="People see it when they unsubscribe." value={text.name} autocomplete="off" />
    <Field name="description" label="Description" value={text.description} autocomplete="off" optional />
  </>
)

export const TopicPage = ({ facts, topic, form }: PageProps & { topic: UsedTopic }) => {
  const topics = pathOf(facts.viewer.app.publicId, 'sender/topics')
  const path = `${topics}/${publicId('top', topic.id)}`
  const text = form?.text ?? { name: topic.name, description: topic.description ?? '' }
  return (
    <SenderFrame facts={facts} current="sender/topics" state={<State topic={topic} />} refused={form}>
      <Form action={path} errors={form?.errors} isLocked={!isOwner(facts.viewer)} submit="Save" cancel={topics}>
        <TopicFormFields text={text} />
      </Form>
      {isOwner(facts.viewer) && topic.messages === 0 && (
        <section>
          <h2>Delete</h2>
          <p class="hint">No message uses it.</p>
          <Dialog id="delete" opener="Delete this topic" kind="danger" title="Delete this topic?">
            <p>If you add a topic with this name again, people stay unsubscribed from it.</p>
            <ActionForm action={`${path}/delete`} kind="danger">
              Delete this topic
            </ActionForm>
          </Dialog>
        </section>
      )}
    </SenderFrame>
  )
}

const State = ({ topic }: { topic: UsedTopic }) => (
  <>
    Used by {countMessages(topic.messages).toLowerCase()}.{topic.messages > 0 && ' A new name applies there, too.'}
  </>
)
