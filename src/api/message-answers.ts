/** Schemas of answers about messages. Times are ISO 8601 UTC. A `title` makes a named type in openapi.json. */
import { type TProperties, Type } from '@sinclair/typebox'
import {
  CONTACT_ID,
  DeliveryRecord,
  ExplainedRule,
  FieldErrorItem,
  oneOf,
  orNull,
  pageOf,
  time,
  timeOrNull,
  TRUE,
  WarningItem,
  WARNINGS,
} from '../http/answer-schemas.ts'
import { ContentSchema } from '../messages/drafts.ts'
import { MESSAGE_STATUSES } from '../store/message-types.ts'

const count = (description: string) => Type.Integer({ description, minimum: 0 })
const text = (description: string) => Type.String({ description })
const counts = (description: string) => Type.Record(Type.String(), Type.Integer(), { description })

const MESSAGE_ID = text('The ID of the message, `msg_...`.')
const STATUS = oneOf(MESSAGE_STATUSES, 'A `live` message sends emails when it is triggered.')
const VERSION = Type.Integer({ description: 'The version, from 1.', minimum: 1 })
const UPDATED_AT = time('When it last changed. Send it as `basedOn` to change the message.')

const MESSAGE = {
  id: MESSAGE_ID,
  status: STATUS,
  version: VERSION,
  createdAt: time('When it was created.'),
  updatedAt: UPDATED_AT,
}
const COUNTS = counts(
  'Deliveries by [state](/docs/states), and the numbers of sent emails after which people came back (`cameBack`), opened the result (`opened`) or reached the goal (`reachedGoal`). Zeros are left out.',
)

const ListedMessage = Type.Object(
  { ...MESSAGE, name: text('Its name.'), trigger: ContentSchema.properties.trigger, counts: COUNTS },
  { title: 'ListedMessage', description: 'A message in a list.' },
)

export const MessagePage = pageOf('MessagePage', ListedMessage)

const share = (description: string) =>
  Type.Object(
    {
      people: count('The size of the group.'),
      reached: count('How many of them came back, opened the result or reached the goal.'),
    },
    { description },
  )

const Compared = Type.Object(
  {
    emailed: share('People who passed the rules and were not held back, even if their email failed.'),
    heldBack: share('People who were held back.'),
    extra: orNull(
      Type.Integer(),
      'How many more of the emailed people came back, opened the result or reached the goal than without the email; null if there are too few people to tell.',
    ),
    margin: Type.Optional(Type.Integer({ description: 'The margin of `extra`, at 95% confidence.' })),
  },
  { title: 'ComparedPeople', description: 'Emailed people compared with those who were held back.' },
)

const MessageResults = Type.Object(
  {
    days: count('The number of days, up to today.'),
    started: count('Emails that were triggered.'),
    wouldSend: count('Of these, those that the rules allowed.'),
    sent: count('Of these, those that were sent.'),
    cameBack: count('Sent emails after which the person came back.'),
    opened: count('Sent emails after which the person opened the result.'),
    reachedGoal: count('Sent emails after which the person reached the goal.'),
    goals: Type.Optional(
      Type.Array(
        Type.Object({
          event: orNull(Type.String(), 'The event.'),
          until: timeOrNull('When it was replaced. Null: it is the current goal.'),
        }),
        {
          description: 'If emails had different goals: the last five, oldest first.',
        },
      ),
    ),
    heldBack: count('Emails that were held back.'),
    notSent: Type.Array(Type.Object({ reason: text('The reason.'), emails: count('The number of emails.') }), {
      description: 'The five most frequent reasons why emails were not sent.',
    }),
    compared: Type.Optional(
      Type.Record(Type.String(), Compared, {
        description: 'With a holdback: `cameBack`, `opened` and `reachedGoal` for both groups.',
      }),
    ),
  },
  { title: 'MessageResults', description: 'Results for the last 30 days.' },
)

export const MessageFoundAnswer = Type.Object(
  { ok: TRUE, ...MESSAGE, counts: COUNTS, results: MessageResults, message: ContentSchema },
  { title: 'MessageFound' },
)

const SAVED = {
  ok: TRUE,
  messageId: MESSAGE_ID,
  status: STATUS,
  version: VERSION,
  updatedAt: UPDATED_AT,
}
const WAITING = count('How many of its emails were waiting. With `moveWaiting`, they use this version.')

const savedAnswer = (title: string, change: TProperties[string]) =>
  Type.Object({ ...SAVED, change, waiting: WAITING, warnings: WARNINGS }, { title })

export const MessageCreatedAnswer = savedAnswer(
  'MessageCreated',
  Type.Literal('created', { description: 'The message is new.' }),
)
export const MessageSavedAnswer = savedAnswer(
  'MessageSaved',
  oneOf(['changed', 'unchanged'], '`unchanged`: the message was already the same.'),
)

export const MessageStatusAnswer = Type.Object(
  { ok: TRUE, messageId: MESSAGE_ID, status: STATUS, warnings: WARNINGS },
  { title: 'MessageStatusSet' },
)

const PreviewedMail = Type.Object(
  {
    to: text("The person's email."),
    eventId: orNull(Type.String(), 'The stored event that the preview uses.'),
    isMadeUp: Type.Boolean({ description: 'Whether the preview uses sample data.' }),
    language: orNull(Type.String(), "The language of the text. Null: the message's own text."),
    subject: orNull(Type.String(), 'Null: see `fault`.'),
    html: orNull(Type.String(), 'The HTML part. Null: see `fault`.'),
    text: orNull(Type.String(), 'The text part. Null: see `fault`.'),
    refusedLinks: Type.Array(Type.String(), { description: "URLs that the email doesn't link to." }),
    fault: orNull(Type.String(), 'Why there is no preview.'),
  },
  { title: 'PreviewedMail', description: 'The email as it would be sent.' },
)

export const PreviewAnswer = Type.Object(
  {
    ok: TRUE,
    mail: PreviewedMail,
    problems: Type.Array(FieldErrorItem, { description: 'What must be fixed before it can go live.' }),
    warnings: Type.Array(WarningItem, { description: 'What you should review before it goes live.' }),
    token: orNull(Type.String(), 'For POST /messages/status. Null while there are `problems` or a `fault`.'),
  },
  { title: 'MessagePreview' },
)

const SimulationSummary = Type.Object(
  {
    from: time('The start of the period.'),
    until: time('The end of the period.'),
    triggered: count('How many times it would have been triggered.'),
    counts: counts('Emails by outcome: `send`, `waiting`, `joined`, or the reason why not.'),
    estimated: count('How many results are based on page views only.'),
    notes: Type.Array(Type.String(), { description: 'How the simulation differs from sending.' }),
  },
  { title: 'SimulationSummary', description: 'The triggers in the period, at most the newest 10,000.' },
)

const SimulatedEmail = Type.Object(
  {
    email: orNull(Type.String(), "The person's email; null if they were just erased."),
    contactId: CONTACT_ID,
    triggeredAt: time('When its trigger happened.'),
    dueAt: time('When it would have been due.'),
    outcome: text('`send`, `waiting`, `joined`, or the reason why not.'),
    why: text("Why the person would or wouldn't have got it, in one sentence."),
    rules: Type.Array(ExplainedRule, { description: 'The checks that were recorded, in order.' }),
  },
  { title: 'SimulatedEmail', description: 'What would have happened for one trigger.' },
)

const { properties: simulated } = pageOf('', SimulatedEmail)

export const SimulationAnswer = Type.Object(
  { ok: TRUE, simulation: SimulationSummary, data: simulated.data, nextCursor: simulated.nextCursor },
  { title: 'Simulation' },
)

const ExplainedMessage = Type.Object(
  { id: MESSAGE_ID, name: text('Its name.'), status: STATUS },
  { title: 'ExplainedMessage', description: 'The message, as it is now.' },
)

export const ExplanationAnswer = Type.Object(
  {
    ok: TRUE,
    why: text("Why the person got or didn't get the email, in one or two sentences."),
    serverReply: Type.Optional(text("The mail server's refusal, explained; absent if it didn't refuse the email.")),
    message: ExplainedMessage,
    delivery: Type.Union([DeliveryRecord, Type.Null()], {
      description: "The person's last delivery from the message; null if there is none.",
    }),
    decidedAt: timeOrNull('When the rules were checked; null if they have not been checked yet.'),
    rules: Type.Array(ExplainedRule, { description: 'The checks that were recorded, in order.' }),
  },
  { title: 'Explanation' },
)

export const TestAnswer = Type.Object(
  {
    ok: TRUE,
    outcome: oneOf(
      ['sent', 'kept', 'failed', 'unknown'],
      '`kept`: captured, because no mail server is set up. `unknown`: the mail server did not confirm it.',
    ),
    reason: orNull(Type.String(), 'Why it failed, or may have.'),
    warnings: WARNINGS,
  },
  { title: 'TestSent' },
)
