/** @jsxImportSource preact */
import type { Activation } from '../../events/activation.ts'
import { pathOf } from '../layout/frame.tsx'
import { Icon } from '../ui/icon.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { nextStep, type SetupStep } from './checklist.ts'

type StateProps = { activation: Activation; now: number; appId: string }

/** Texts from the specification. */
export const State = ({ activation: { message, lastEventAt }, now, appId }: StateProps) =>
  message === null ? (
    <>
      <a href={pathOf(appId, 'events')}>Events are arriving</a>.{' '}
      <span class="latest">
        Last event <Time at={lastEventAt ?? now} now={now} />.
      </span>
    </>
  ) : (
    <>{message}</>
  )

/** Only the next step says what to do; later steps are links. */
export const Steps = ({ steps, now }: { steps: readonly SetupStep[]; now: number }) => {
  const next = nextStep(steps)
  return (
    <ol class="steps">
      {steps.map((step) => (
        <Step key={step.name} step={step} isNext={step === next} now={now} />
      ))}
    </ol>
  )
}

type StepProps = { step: SetupStep; isNext: boolean; now: number }

const Step = ({ step: { name, isDone, at, text, link }, isNext, now }: StepProps) => (
  <li class={isDone ? 'step done' : isNext ? 'step due' : 'step'} aria-current={isNext ? 'step' : undefined}>
    {isDone && <Icon name="check" />}
    <div>
      {isDone ? name : isNext ? <b>{name}</b> : <a href={link.href}>{name}</a>}
      <span class="unseen">{isDone ? ': done' : isNext ? ': next' : ': to do'}</span>
      {isDone && at !== null && (
        <p class="hint">
          Last seen <Time at={at} now={now} />.
        </p>
      )}
      {isNext && (
        <>
          <p class="hint">
            <SentText>{text}</SentText>
          </p>
          <p>
            <a href={link.href}>{link.label}</a>
          </p>
        </>
      )}
    </div>
  </li>
)
