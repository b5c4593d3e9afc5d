/** @jsxImportSource preact */
import { useContext } from 'preact/hooks'
import type { KeyRow } from '../../accounts/accounts.ts'
import type { Refusals } from '../../store/requests.ts'
import type { Activation } from '../../events/activation.ts'
import { browserSamples, type CodeSample, SECRETS_WARNING } from '../../docs/samples.ts'
import { hasRole } from '../../accounts/members.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { State, Steps } from './activation-status.tsx'
import { nextStep, type SetupStep } from './checklist.ts'
import { PageContext } from '../layout/page-context.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { type Made, MadeKey } from '../access/key-pages.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Folding } from '../ui/folding.tsx'
import { CodeTabs, CodeBlock } from '../ui/code.tsx'
import { Notice } from '../ui/notice.tsx'
import { Value, Values } from '../ui/values.tsx'
import { type Checked, SignatureSection } from './signature-section.tsx'
import { Trouble } from './trouble.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { makeSnippetPolicy, makeSnippetTags, type SnippetSource } from '../../visits/snippet-tag.ts'

type ActivationProps = {
  viewer: Viewer
  activation: Activation
  steps: SetupStep[]
  /** whether the server has used an active key; a test event needs no code */
  hasServerCalled: boolean
  /** active keys */
  keys: KeyRow[]
  refused: Refusals
  hasOldSecret: boolean
  addsPeople: boolean
  code: CodeSample[]
  snippet: SnippetSource
  /** random token that identifies a resubmitted form */
  form: string
  made?: Made
  checked?: Checked
  refusal?: RefusalCode
  now: number
}

export const ActivationPage = (props: ActivationProps) => (
  <Frame
    viewer={props.viewer}
    page="activation"
    title="Activation"
    islands={['live']}
    state={
      <span data-live="state" aria-live="polite">
        <State {...props} appId={props.viewer.app.publicId} />
      </span>
    }
  >
    {props.refusal && <Notice kind="error">{REFUSALS[props.refusal].message}</Notice>}
    <div class="columns">
      <div>
        <KeySection {...props} />
        <CodeSection {...props} />
        <SnippetSection {...props} />
        {/* submitting another form would lose an unsaved key */}
        {!props.made && (
          <SignatureSection
            viewer={props.viewer}
            checked={props.checked}
            isFolded={nextStep(props.steps)?.name !== 'Signed-in people'}
          />
        )}
      </div>
      <aside aria-label="Your app">
        <StatusSection {...props} />
        <AppSection {...props} />
        {/* this link would lose it, too */}
        {!props.made && hasRole(props.viewer.member.role, 'editor') && <TestSection {...props} />}
      </aside>
    </div>
  </Frame>
)

/** A section that folds once its step is done. */
const isDone = ({ steps, made }: Pick<ActivationProps, 'steps' | 'made'>, name: string): boolean =>
  made === undefined && steps.some((step) => step.name === name && step.isDone)

const StatusSection = ({ viewer, ...props }: ActivationProps) => (
  <>
    <section>
      <div class="section-head">
        <h2>Checklist</h2>
        {/* shows whether updates are live (needs scripts) */}
        <span data-live-state role="status" />
      </div>
      <p class="hint" role="status" data-stream-reason />
      <div data-live="steps" data-live-from={`${pathOf(viewer.app.publicId, 'activation')}/live`}>
        <Steps {...props} />
      </div>
    </section>
    <section>
      <h2>Refused requests</h2>
      <div data-live="trouble">
        <Trouble {...props} appId={viewer.app.publicId} />
      </div>
    </section>
  </>
)

const KeySection = ({ viewer, keys, form, made }: ActivationProps) => (
  <section>
    {made ? (
      <>
        <div class="section-head">
          <h2>Store these two values</h2>
          {/* a link would lose an unsaved key */}
          <span class="hint">The key is for people, events and emails. Create others under API keys.</span>
        </div>
        <MadeKey {...made} next={pathOf(viewer.app.publicId, 'activation')} />
      </>
    ) : (
      <>
        <h2>API key</h2>
        <p>{keysSentence(keys, hasRole(viewer.member.role, 'owner'))}</p>
        {hasRole(viewer.member.role, 'owner') && (
          <p class="hint">
            A key created here reads and writes people and events, and sends emails. Create keys with other scopes under{' '}
            <a href={pathOf(viewer.app.publicId, 'keys')}>API keys</a>.
          </p>
        )}
        {hasRole(viewer.member.role, 'owner') && (
          <ActionForm
            action={`${pathOf(viewer.app.publicId, 'activation')}/key`}
            fields={{ form, name: 'Server', scope: 'standard' }}
            kind={keys.length === 0 ? 'primary' : 'plain'}
          >
            {keys.length === 0 ? 'Create a key' : 'Create another key'}
          </ActionForm>
        )}
      </>
    )}
  </section>
)

function keysSentence(keys: KeyRow[], isOwner: boolean): string {
  const again = 'A key is shown only once.'
  if (keys.length === 0)
    return `No active keys. ${again}${isOwner ? '' : ' Only owners of the account can create one.'}`
  const lost = isOwner ? 'Create another key' : 'Ask an owner of the account to create another key'
  return `${keys.length === 1 ? `The key “${keys[0]?.name}” is active.` : `${keys.length} keys are active.`} ${again} Lost it? ${lost}; the identity secret is shown with it.`
}

const CodeSection = (props: ActivationProps) => {
  const { code, made } = props
  const { language } = useContext(PageContext)
  return (
    <Folding id="code" title="Code for your server" isFolded={props.hasServerCalled && isDone(props, 'First event')}>
      <p>
        Sends an event and signs the email of the signed-in person. Reads <code>SERVICE_API_KEY</code> and{' '}
        <code>SERVICE_IDENTITY_SECRET</code> from the environment, times out after 10 seconds, and logs errors instead
        of throwing them.
      </p>
      {!made && <p class="hint">{SECRETS_WARNING}</p>}
      <CodeTabs name="code" label="Language" languages={code} chosen={language} />
    </Folding>
  )
}

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

const TestSection = ({ viewer, activation, keys }: ActivationProps) => (
  <section>
    <h2>Try it</h2>
    <p class="hint">Adds you, {viewer.member.email}, to People with a test event. It triggers no email.</p>
    <ActionForm
      action={`${pathOf(viewer.app.publicId, 'activation')}/test`}
      // without a key, creating one is the primary action
      kind={activation.lastEventAt === null && keys.length > 0 ? 'primary' : 'plain'}
    >
      Send a test event
    </ActionForm>
  </section>
)

const SnippetSection = (props: ActivationProps) => (
  <Folding id="tag" title="Script tag for your pages" isFolded={isDone(props, 'Browser script')}>
    <p>
      Reports the paths signed-in people open, so nobody gets an email about a page they have open. 1.5 KB compressed.
      It sets no cookies and never reports unidentified visitors.
    </p>
    <CodeTabs name="tag" label="Variant of the script tag" languages={browserSamples(makeSnippetTags(props.snippet))} />
    {props.addsPeople ? (
      <p>
        The browser script adds people this app doesn't know. You can change this in{' '}
        <a href={pathOf(props.viewer.app.publicId, 'settings')}>Settings</a>.
      </p>
    ) : (
      <p>
        Only page views of known people are stored. Your server can add others with <code>createContact</code>, and the
        browser script can if you allow it in <a href={pathOf(props.viewer.app.publicId, 'settings')}>Settings</a>.
      </p>
    )}
    <details>
      <summary>
        Sources for a <code>Content-Security-Policy</code>
      </summary>
      <CodeBlock id="policy" label="Content-Security-Policy">
        {makeSnippetPolicy(props.snippet)}
      </CodeBlock>
    </details>
  </Folding>
)
