/** @jsxImportSource preact */
import type { KeyRow } from '../../accounts/accounts.ts'
import type { Activation } from '../../events/activation.ts'
import { pathOf } from '../layout/frame.tsx'
import { Icon } from '../ui/icon.tsx'
import { Time } from '../ui/time.tsx'
import type { ComponentChildren } from 'preact'

export type StatusProps = { activation: Activation; keys: KeyRow[]; now: number }

/** Texts from the specification. */
export const State = ({ activation: { message, lastEventAt }, now, appId }: StatusProps & { appId: string }) =>
  message === null ? (
    <>
      Events arrive. The newest came <Time at={lastEventAt ?? now} now={now} />.{' '}
      <a href={pathOf(appId, 'events')}>See them</a>
    </>
  ) : (
    <>{message}</>
  )

export const Steps = ({ activation, keys, now }: StatusProps) => {
  const usedAt = keys.reduce<number | null>((last, { lastUsedAt }) => later(last, lastUsedAt), null)
  const { lastNamedAt, lastViewAt } = activation
  return (
    <ol class="steps">
      <Step name="Your server called" at={usedAt} now={now}>
        {keys.length === 0 ? 'No active keys.' : 'With the code for your server, or any other call.'}
      </Step>
      <Step name="First event" at={lastNamedAt} now={now}>
        Sent by your server about a person, or an action of a page.
      </Step>
      <Step name="First page view" at={lastViewAt} now={now}>
        By the tag, once somebody is signed in.
      </Step>
    </ol>
  )
}

const later = (a: number | null, b: number | null): number | null => (a === null || (b !== null && b > a) ? b : a)

type StepProps = { name: string; at: number | null; now: number; children: ComponentChildren }

const Step = ({ name, at, now, children }: StepProps) => (
  <li class={at === null ? 'step' : 'step done'}>
    {at !== null && <Icon name="check" />}
    <div>
      {name}
      <span class="unseen">{at === null ? ': not yet' : ': done'}</span>
      <p class="hint">{at === null ? children : <Time at={at} now={now} />}</p>
    </div>
  </li>
)
