/** @jsxImportSource preact */
import { type TwoStepRow, twoStepUri } from '../../accounts/two-step.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { Value, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { encode } from 'uqr'

type SetupProps = { viewer: Viewer; secret: string; error?: string }

/** The key for the authenticator app, and a first code. */
export const TwoStepSetupPage = ({ viewer, secret, error }: SetupProps) => {
  const uri = twoStepUri(secret, viewer.member.email)
  return (
    <Frame viewer={viewer} page="you" title="Set up two-step sign-in" state="Enter a code from your app to turn it on.">
      <section>
        <h2>Add Eventpost to your authenticator app</h2>
        <p>Scan this with an app such as Aegis, 1Password or Google Authenticator.</p>
        <QrCode label="QR code for your authenticator app">{uri}</QrCode>
        <p>
          Is the app on this device? <a href={uri}>Open the setup link</a>. No camera? Enter the key.
        </p>
        <Values>
          <Value id="two-step-key" name="Key">
            {secret.replaceAll(/.{4}(?!$)/g, '$& ')}
          </Value>
        </Values>
      </section>
      <section>
        <h2>Enter the code</h2>
        <Form
          action={`${pathOf(viewer.app.publicId, 'you')}/two-step/on`}
          errors={error ? [{ field: 'code', message: error }] : []}
          submit="Turn it on"
          cancel={pathOf(viewer.app.publicId, 'you')}
        >
          <Field
            name="code"
            label="Code"
            kind="code"
            hint="6 digits. Turning on two-step sign-in ends your other sessions."
            autocomplete="one-time-code"
          />
        </Form>
      </section>
    </Frame>
  )
}

type CodesProps = { viewer: Viewer; codes: string[]; isFirst: boolean }

/** The only page that shows the recovery codes. */
export const RecoveryCodesPage = ({ viewer, codes, isFirst }: CodesProps) => (
  <Frame
    viewer={viewer}
    page="you"
    title="Your recovery codes"
    state={
      isFirst
        ? 'Two-step sign-in is on, and all your other sessions have ended.'
        : 'These codes replace your previous ones.'
    }
  >
    <SecretOnce
      secrets={[]}
      warning="They are shown only once."
      next={pathOf(viewer.app.publicId, 'you')}
      confirmLabel="I have stored them"
    >
      <p>Each code signs you in once without your phone. Store them on paper or in your password manager.</p>
      <CodeBlock id="recovery-codes" label="Recovery codes">
        {codes.join('\n')}
      </CodeBlock>
    </SecretOnce>
  </Frame>
)

/** Shown when the codes can't be shown again. */
export const TwoStepDonePage = ({ viewer, twoStep }: { viewer: Viewer; twoStep: TwoStepRow }) => {
  const you = pathOf(viewer.app.publicId, 'you')
  return (
    <Frame viewer={viewer} page="you" title="Two-step sign-in is on" state="It was already on. Nothing has changed.">
      <section>
        <p>
          Recovery codes are shown only once. If you haven't stored yours, create new ones. The old ones then stop
          working.
        </p>
        <div class="buttons">
          <ActionForm
            action={`${you}/two-step/codes`}
            fields={{ replaces: String(twoStep.codesMadeAt) }}
            kind="primary"
          >
            Create new recovery codes
          </ActionForm>
          <ButtonLink href={you}>I have them</ButtonLink>
        </div>
      </section>
    </Frame>
  )
}

/** Quiet zone in modules, required by scanners. */
const QUIET_MODULES = 4

/** Dark on white in any theme, because many apps can't read the inverse. */
export const QrCode = ({ label, children }: { label: string; children: string }) => {
  const { data, size } = encode(children, { ecc: 'M', border: QUIET_MODULES })
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <path d={data.map(pathOfRow).join('')} />
    </svg>
  )
}

const pathOfRow = (row: boolean[], y: number): string =>
  row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')).join('')
