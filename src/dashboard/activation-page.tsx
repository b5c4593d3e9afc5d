/** @jsxImportSource preact */
import type { KeyRow } from '../core/accounts.ts'
import type { EventRow } from '../core/events.ts'
import { type Integration, SECRETS_WARNING } from '../core/integration/index.ts'
import { hasRole } from '../core/members.ts'
import { REFUSALS, type RefusalCode } from '../core/refusals.ts'
import { Frame, pathOf } from './frame.tsx'
import { type Made, MadeKey } from './made-key.tsx'
import { Badge } from './parts/badge.tsx'
import { ActionForm } from './parts/button.tsx'
import { CodeTabs } from './parts/code.tsx'
import { Notice } from './parts/notice.tsx'
import { Time } from './parts/time.tsx'
import { Value, Values } from './parts/values.tsx'
import type { Viewer } from './viewer.ts'

type ActivationProps = {
  viewer: Viewer
  newest: EventRow | null
  /** those that work */
  keys: KeyRow[]
  code: Integration[]
  /** the random text by which the form of a key is known again when it is sent twice */
  form: string
  made?: Made
  refusal?: RefusalCode
  now: number
}

/** From the IDs of an app to its first event: what to store, what to paste, and what has arrived. */
export const ActivationPage = (props: ActivationProps) => (
  <Frame viewer={props.viewer} page="activation" title="Activation" state={<State {...props} />}>
    {props.refusal && <Notice kind="error">{REFUSALS[props.refusal].message}</Notice>}
    <div class="columns">
      <div>
        <KeySection {...props} />
        <CodeSection {...props} />
      </div>
      <aside aria-label="Your app">
        <AppSection {...props} />
        <TestSection {...props} />
      </aside>
    </div>
  </Frame>
)

/** The specification's own words until something has arrived (spec 3.4). */
const State = ({ newest, now }: ActivationProps) =>
  newest === null ? (
    <>Waiting for the first event...</>
  ) : (
    <>
      Events arrive. The newest came <Time at={newest.receivedAt} now={now} />.
    </>
  )

const KeySection = ({ viewer, keys, form, made }: ActivationProps) => (
  <section>
    <h2>{made ? 'Store these two values' : 'API key'}</h2>
    {made ? (
      <MadeKey {...made} next={pathOf(viewer.app.publicId, 'activation')} />
    ) : (
      <>
        <p>{keysSentence(keys)}</p>
        {hasRole(viewer.member.role, 'owner') && (
          <ActionForm
            action={`${pathOf(viewer.app.publicId, 'activation')}/key`}
            fields={{ form, name: 'Server', scope: 'standard' }}
            kind={keys.length === 0 ? 'primary' : 'plain'}
          >
            {keys.length === 0 ? 'Make a key' : 'Make another key'}
          </ActionForm>
        )}
      </>
    )}
  </section>
)

function keysSentence(keys: KeyRow[]): string {
  const again = 'A key is shown once, when it is made, with the identity secret beside it.'
  if (keys.length === 0) return `No key works yet. ${again}`
  return `${keys.length === 1 ? `The key “${keys[0]?.name}” works.` : `${keys.length} keys work.`} ${again} If nobody stored it, make another.`
}

const CodeSection = ({ code, made }: ActivationProps) => (
  <section>
    <h2>Code for your server</h2>
    <p>
      It sends an event, and signs the email of whoever is signed in. It reads <code>SERVICE_API_KEY</code> and{' '}
      <code>SERVICE_IDENTITY_SECRET</code> from the environment, waits 10 seconds at most, and logs what fails instead
      of throwing it.
    </p>
    {!made && <p class="hint">{SECRETS_WARNING}</p>}
    <CodeTabs name="code" label="Language" languages={code} />
  </section>
)

const AppSection = ({ viewer: { app } }: ActivationProps) => (
  <section>
    <h2>{app.name}</h2>
    <Values>
      <Value id="app-id" name="App ID">
        {app.publicId}
      </Value>
      <Value id="site-id" name="Site ID">
        {app.siteId}
      </Value>
    </Values>
  </section>
)

/** Not beside a key that was just made: sending the form would take it away unstored. */
const TestSection = ({ viewer, newest, made }: ActivationProps) => (
  <section>
    <h2>Try it</h2>
    <p>
      <Badge mood={newest === null ? 'quiet' : 'good'}>{newest === null ? 'Waiting' : 'Arriving'}</Badge>
    </p>
    <p class="hint">
      A test event is about yourself, {viewer.member.email}, who then is one of the people of this app. No message
      follows from it.
    </p>
    {hasRole(viewer.member.role, 'editor') && !made && (
      <ActionForm
        action={`${pathOf(viewer.app.publicId, 'activation')}/test`}
        kind={newest === null ? 'primary' : 'plain'}
      >
        Send a test event
      </ActionForm>
    )}
  </section>
)
