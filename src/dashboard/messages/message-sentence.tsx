/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { render } from 'preact-render-to-string'
import { type Fields, textOf } from './message-field-names.ts'
import { OPEN } from './message-form.ts'
import { RULE_KINDS } from './message-rule-form.ts'
import { RuleFields } from './message-rules.tsx'
import { AgainFields, GoalFields, HoldbackField, type PartProps, TriggerFields, WaitFields } from './message-when.tsx'
import { readWords, type RuleWords, type SentenceWords, type Words } from './sentence-words.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { SentText } from '../ui/text.tsx'

/** Id of the section that buttons of the sentence replace. */
const SENTENCE = 'sentence'
const NOTES = 'sentence-notes'

type SentenceProps = PartProps & { fields: Fields; timezone: string; others: string[]; errors: string[] }

/** The message as one sentence. Each marked part opens its fields, also without scripts. */
export function Sentence(props: SentenceProps) {
  const { ask, path, fields, timezone } = props
  const words = readWords(fields)
  const { rules, notes } = words
  const part = (id: string) => ({ id, ...readState(props, [id]) })
  return (
    <section id={SENTENCE} data-part aria-label="When it is sent, and to whom">
      <div class="sentence">
        When{' '}
        <Part {...part('trigger')} words={words.trigger}>
          <TriggerFields ask={ask} path={path} fields={fields} others={props.others} />
        </Part>
        ,{' '}
        <Part {...part('wait')} words={words.wait}>
          <WaitFields ask={ask} timezone={timezone} />
        </Part>
        {rules.length === 0 && ','}{' '}
        {rules.map((rule, index) => (
          <>
            {index === 0 ? 'if ' : index === rules.length - 1 && 'and '}
            <RulePart key={rule.rows[0]} {...props} rule={rule} hasComma={index !== rules.length - 2} />{' '}
          </>
        ))}
        <Part {...part('again')} words={words.again}>
          <AgainFields ask={ask} />
        </Part>
        .
      </div>
      <div class="sentence-foot">
        <div class="more-parts">
          Goal:{' '}
          <Part {...part('goal')} words={words.goal}>
            <GoalFields ask={ask} />
          </Part>
          . Hold back:{' '}
          <Part {...part('holdback')} words={words.holdback}>
            <HoldbackField ask={ask} />
          </Part>
          .
        </div>
        {!ask('onlyIf').isLocked && <AddRule path={path} />}
        <p class="hint" id={NOTES}>
          <SentText>{notes}</SentText>
        </p>
      </div>
      {ask('onlyIf').error && (
        <p class="fault" id="onlyIf">
          {ask('onlyIf').error}
        </p>
      )}
    </section>
  )
}

/** Parts with errors are open, and so is a part that was just added. */
function readState({ fields, errors }: Pick<SentenceProps, 'fields' | 'errors'>, ids: string[]) {
  const isWrong = errors.some((field) =>
    ids.some((id) => field === id || field.startsWith(`${id}.`) || field.startsWith(`${id}[`)),
  )
  return { isWrong, isOpen: isWrong || ids.includes(textOf(fields, OPEN)) }
}

type OpenerProps = { id: string; words: Words; isWrong: boolean; isOpen: boolean; children: ComponentChildren }

const Part = ({ id, words, isWrong, isOpen, children }: OpenerProps) => (
  <details class={isWrong ? 'part wrong' : 'part'} id={idOf(id)} name="part" open={isOpen}>
    <summary id={saysId(id)}>
      <Said words={words} />
    </summary>
    <div class="part-fields">
      {children}
      <div class="part-done">
        <Button name="do" value={DONE}>
          Done
        </Button>
      </div>
    </div>
  </details>
)

/** Without scripts, shows the page with its parts closed. */
const DONE = 'preview'

/** A link to a field opens its part, so no part may have the id of its field. */
const idOf = (id: string): string => (id === 'holdback' ? 'hold-back' : id)
const saysId = (id: string): string => `${id}-says`
const removesId = (id: string): string => `${id}-removes`
const nameRemoval = ({ bold }: Words): string => `Remove: ${bold}`

const Said = ({ words: { before, bold, after } }: { words: Words }) => (
  <>
    {before}
    <b>
      <SentText most={120}>{bold}</SentText>
    </b>
    {after}
  </>
)

function RulePart(props: SentenceProps & { rule: RuleWords; hasComma: boolean }) {
  const { ask, path, fields, rule, hasComma } = props
  const paths = rule.rows.map((row) => `onlyIf[${row}]`)
  const [id = ''] = paths
  const kind = textOf(fields, `${id}.rule`)
  const { isLocked } = ask(id)
  const faults = paths.flatMap((at) => ask(`${at}.rule`).error ?? ask(at).error ?? [])
  return (
    <span class="rule-part">
      <Part id={id} {...readState(props, paths)} words={rule}>
        <p class="part-title" id={`${id}.rule`}>
          {rule.label}
        </p>
        {faults.map((fault) => (
          <p key={fault} class="fault">
            {fault}
          </p>
        ))}
        <RuleFields ask={ask} path={path} rows={rule.rows} kind={kind} />
      </Part>
      {paths.map((at) => (
        <input key={at} type="hidden" name={`${at}.rule`} value={textOf(fields, `${at}.rule`)} />
      ))}
      {!isLocked && (
        <button
          class="remove"
          type="submit"
          name="do"
          value={`remove onlyIf ${rule.rows.join(' ')}`}
          formaction={`${path}#${SENTENCE}`}
        >
          <Icon name="close" />
          <span class="unseen" id={removesId(id)}>
            {nameRemoval(rule)}
          </span>
        </button>
      )}
      {hasComma && <span class="comma">,</span>}
    </span>
  )
}

const AddRule = ({ path }: { path: string }) => (
  <details class="part add-rule" name="part">
    <summary>
      <Icon name="plus" />
      Add a rule
    </summary>
    <ul class="part-fields">
      {Object.entries(RULE_KINDS).map(([kind, label]) => (
        <li key={kind}>
          <Button name="do" value={`add onlyIf ${kind}`} formaction={`${path}#${SENTENCE}`}>
            {label}
          </Button>
        </li>
      ))}
    </ul>
  </details>
)

/** Used by islands/message.ts: HTML by element id. */
export function sentenceParts(fields: Fields): Record<string, string> {
  const words = readWords(fields)
  return Object.fromEntries([
    ...PARTS.map((id) => [saysId(id), render(<Said words={words[id]} />)]),
    ...words.rules.flatMap((rule) => {
      const id = `onlyIf[${rule.rows[0]}]`
      return [
        [saysId(id), render(<Said words={rule} />)],
        [removesId(id), render(<>{nameRemoval(rule)}</>)],
      ]
    }),
    [NOTES, render(<SentText>{words.notes}</SentText>)],
  ])
}

const PARTS = ['trigger', 'wait', 'again', 'goal', 'holdback'] as const satisfies (keyof SentenceWords)[]
