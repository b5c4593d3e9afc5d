/** @jsxImportSource preact */
import { CodeBlock, CodeTabs } from '../ui/code.tsx'
import { Diff } from '../ui/diff.tsx'
import { MailPreview } from '../ui/mail-preview.tsx'
import { QrCode } from '../ui/qr.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { Fact, Value, Values } from '../ui/values.tsx'
import { LONG } from './samples.ts'

const LANGUAGES = [
  { id: 'node', name: 'Node', blocks: [{ label: 'events.js', code: `await sendEvent('results_ready') // ${LONG}` }] },
  { id: 'python', name: 'Python', blocks: [{ label: 'events.py', code: 'send_event("results_ready")' }] },
]

const SECRETS = [
  { id: 'sample-key', name: 'API key', text: 'mc_0000000000000000000000000000000000' },
  { id: 'sample-secret', name: 'Identity secret', text: 'is_00000000000000000000000000000000000000000000' },
]

/** What is read, copied and compared. */
export const ContentParts = ({ now }: { now: number }) => (
  <>
    <section>
      <h2>Values</h2>
      <Values>
        <Value id="sample-app" name="App ID">
          app_0mp6v7uo0u63b1cojcdwp
        </Value>
        <Value id="sample-long" name="Long">
          {LONG}
        </Value>
        <Fact name="Last used">
          <Time at={now - 120_000} now={now} />
        </Fact>
        <Fact name="Works until">
          <ExactTime at={now} />
        </Fact>
      </Values>
    </section>
    <section>
      <h2>Secret shown once</h2>
      <SecretOnce secrets={SECRETS} warning="Both are shown once, on this page." next="#main" />
    </section>
    <section>
      <h2>QR code</h2>
      <QrCode label="QR code of a sample">https://example.com/sample</QrCode>
    </section>
    <section>
      <h2>Code</h2>
      <CodeTabs name="sample" label="Language" languages={LANGUAGES} />
      <CodeBlock id="sample-empty" label="Nothing yet">
        {''}
      </CodeBlock>
    </section>
    <section>
      <h2>Diff</h2>
      <Diff
        label="Changes of the message"
        lines={[
          { kind: 'same', text: 'Hello {{contact.firstName}},' },
          { kind: 'removed', text: 'your results are there.' },
          { kind: 'added', text: `your results are ready: ${LONG}` },
        ]}
      />
    </section>
    <section>
      <h2>Mail preview</h2>
      <MailPreview
        name="mail"
        mail={{
          from: 'Engine <hello@example.com>',
          subject: 'Your 12 pictures are ready.',
          text: 'Hello Ada,\n\nyour 12 pictures are ready:\nhttps://app.example.com/results/1',
          src: '/_parts/mail',
        }}
      />
    </section>
  </>
)
