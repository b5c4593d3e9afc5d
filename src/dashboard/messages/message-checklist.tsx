/** @jsxImportSource preact */
import { hasRole } from '../../accounts/members.ts'
import { proposeSender, SENDER_PROBLEMS } from '../../accounts/senders.ts'
import type { LiveCheck, LiveProblem } from '../../messages/message-checks.ts'
import type { FieldError } from '../../core/refusals.ts'
import { pathOf } from '../layout/frame.tsx'
import { EDITOR } from './editor-props.ts'
import type { Fields } from './message-field-names.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Icon, type IconName } from '../ui/icon.tsx'
import { Ticked } from '../ui/text.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Replaced by islands/message.ts after a check. */
export const CHECKLIST = 'checklist'

type State = 'done' | 'open' | 'wrong'

/** One line of the list. `problems` block going live, `warnings` are emails that won't be sent. */
export type CheckLine = {
  name: string
  state: State
  says: string
  problems: LiveProblem[]
  warnings: FieldError[]
}

type Checked = { errors?: FieldError[]; check: LiveCheck | null; tested: string | null }

const isSame = (a: FieldError, b: FieldError): boolean => a.field === b.field && a.message === b.message
const isOfSender = ({ field, code }: FieldError): boolean =>
  SENDER_PROBLEMS.some((one) => one === code) || /^mail\.(from|replyTo)/.test(field)
const isOfValues = ({ code }: FieldError): boolean => code === 'missing_value'
const isOfText = ({ field }: FieldError): boolean => field.startsWith('mail.')

/** What is left to do before the message can go live, of what is typed. */
export function listChecks({ errors = [], check, tested }: Checked): CheckLine[] {
  const { problems = [], warnings = [], tried } = check ?? {}
  const all = [...problems, ...errors.filter((error) => !problems.some((problem) => isSame(problem, error)))]
  const sender = all.filter(isOfSender)
  const values = all.filter((one) => !isOfSender(one) && isOfValues(one))
  const text = all.filter((one) => !isOfSender(one) && !isOfValues(one) && isOfText(one))
  const others = all.filter((one) => !isOfSender(one) && !isOfText(one))
  const isUnchecked = values.length === 0 && tried?.of === 0 && others.length + text.length > 0
  const partly = tried && tried.tried < tried.of ? { says: describeTried(tried) } : {}
  return [
    ...(others.length > 0 ? [lineOf('Trigger and rules', others, '')] : []),
    lineOf('Sender', sender, 'A sender address is set.'),
    { ...lineOf('Values', values, describeTried(tried)), warnings, ...(isUnchecked ? UNCHECKED : {}), ...partly },
    lineOf('Email', text, 'Renders without errors.'),
    { ...lineOf('Test', [], `Sent to ${tested}.`), ...(tested === null ? UNTESTED : {}) },
  ]
}

/** Values are looked up once everything else fits. */
const UNCHECKED = { state: 'open', says: 'Checked after the other fixes.' } as const

const UNTESTED = { state: 'open', says: 'No test of this text sent yet.' } as const

const lineOf = (name: string, problems: LiveProblem[], done: string): CheckLine => ({
  name,
  state: problems.length > 0 ? 'wrong' : 'done',
  says: problems.length > 0 ? '' : done,
  problems,
  warnings: [],
})

function describeTried(tried: LiveCheck['tried'] | undefined): string {
  if (!tried || tried.of === 0) return 'No values are missing.'
  if (tried.tried === tried.of && tried.of === 1)
    return `No values are missing ${tried.what === 'events' ? 'in the only event' : 'for the only person'} so far.`
  return tried.tried < tried.of
    ? `Checked ${tried.tried} of the last ${tried.of} ${tried.what}. Checking the rest would take too long.`
    : `No values are missing ${tried.what === 'events' ? 'in' : 'for'} the last ${tried.of} ${tried.what}.`
}

/** For the dialog: one sentence. */
export function describeChecks(lines: CheckLine[]): string {
  const wrong = lines.filter(({ state }) => state === 'wrong').map(({ name }) => name)
  if (wrong.length > 0) return `Fix first: ${wrong.join(', ')}.`
  return lines.every(({ state }) => state === 'done')
    ? 'All checks passed.'
    : "You haven't sent a test of this text yet."
}

const ICONS: Record<State, IconName> = { done: 'check', open: 'circle', wrong: 'warning' }
const WORDS: Record<State, string> = { done: 'Done: ', open: 'To do: ', wrong: 'Problem: ' }

/** `fields`: what is typed. */
type ListProps = { viewer: Viewer; isEditor: boolean; fields: Fields; lines: CheckLine[] }

export const Checklist = ({ lines, ...rest }: ListProps) => (
  <ul class="checks">
    {lines.map((line) => (
      <li key={line.name} class={line.state}>
        <Icon name={ICONS[line.state]} />
        <div>
          <span class="unseen">{WORDS[line.state]}</span>
          <b>{line.name}</b> <span class="hint">{line.says}</span>
          <ProblemList {...rest} problems={line.problems} />
          <ProblemList {...rest} problems={line.warnings} />
        </div>
      </li>
    ))}
  </ul>
)

type ProblemsProps = Omit<ListProps, 'lines'> & { problems: LiveProblem[] }

const ProblemList = ({ problems, viewer, isEditor, fields }: ProblemsProps) =>
  problems.length === 0 ? null : (
    <ul class="problems">
      {problems.map((problem) => (
        <li key={problem.field + problem.message}>
          <a href={hrefOf(problem, viewer)}>
            <Named field={problem.field}>{problem.message}</Named>
          </a>
          {isEditor && <Fix problem={problem} viewer={viewer} fields={fields} />}
        </li>
      ))}
    </ul>
  )

const hrefOf = ({ field, code }: FieldError, { app }: Viewer): string =>
  code === 'no_sender' ? pathOf(app.publicId, 'sender') : `#${encodeURIComponent(field)}`

/** The value names the field and the text to replace. */
export const FIX = 'fix'

type FixProps = Pick<ListProps, 'viewer' | 'fields'> & { problem: LiveProblem }

function Fix({ problem: { field, code, replace }, viewer, fields }: FixProps) {
  if (replace) {
    return (
      <Button name="do" value={`${FIX} ${field} ${replace.from}`} form={EDITOR}>
        {describeFix(replace)}
      </Button>
    )
  }
  if (code === 'no_sender' && hasRole(viewer.member.role, 'owner'))
    return <SenderFields viewer={viewer} fields={fields} />
  if (!SENDER_PROBLEMS.some((one) => one === code)) return null
  const page = code === 'sender_unverified' ? 'sender/domain' : 'sender'
  return <ButtonLink href={pathOf(viewer.app.publicId, page)}>Open Sender</ButtonLink>
}

/** Field and button of an address for the app. */
export const NEW_SENDER = 'newSender'

const SenderFields = ({ viewer, fields }: Omit<FixProps, 'problem'>) => (
  <div class="test">
    <Field
      name={NEW_SENDER}
      label="Send emails from"
      value={fields[NEW_SENDER] ?? proposeSender(viewer.app)}
      kind="email"
      autocomplete="off"
    />
    <Button name="do" value={NEW_SENDER} form={EDITOR}>
      Use this address
    </Button>
  </div>
)

function describeFix({ by }: { by: string }): string {
  const [, variable = '', fallback] = /\{\{ (\S+)(?: \| default: (.+))? \}\}/.exec(by) ?? []
  const name = variable.replace(/^(event|contact)\./, '')
  if (by.startsWith('{%')) return `Leave it out if there is no ${name}`
  if (fallback === undefined) return `Use ${variable} instead`
  return `Use ${fallback === 'app.homeUrl' ? 'the home page' : fallback} if there is no ${name}`
}

/** A message with the label of its field. */
const Named = ({ field, children }: { field: string; children: string }) => {
  const label = labelOf(field)
  return <Ticked>{label === undefined ? children : `${label}: ${children}`}</Ticked>
}

/** By the start of the schema path. The first that fits counts. */
const LABELS: [path: string, label: string][] = [
  ['name', 'Name'],
  ['trigger', 'Trigger'],
  ['wait', 'Wait'],
  ['again.collect', 'Collect for (minutes)'],
  ['again', 'How often'],
  ['goal', 'Goal'],
  ['holdback', 'Hold back (%)'],
  ['mail.subject', 'Subject'],
  ['mail.preheader', 'Preview text'],
  ['mail.body', 'Text'],
  ['mail.fromName', "Sender's name"],
  ['mail.fromEmail', "Sender's address"],
  ['mail.replyTo', 'Replies go to'],
  ['mail.category', 'Category'],
]

function labelOf(field: string): string | undefined {
  const [, rule] = /^onlyIf\[(\d+)\]/.exec(field) ?? []
  if (rule !== undefined) return `Rule ${Number(rule) + 1}`
  return LABELS.find(([path]) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))?.[1]
}

/** The first error of each field. */
export const faultsOf = (problems: FieldError[]): Record<string, string> =>
  Object.fromEntries(problems.toReversed().map(({ field, message }) => [field, message]))
