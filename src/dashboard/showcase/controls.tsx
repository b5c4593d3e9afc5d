/** @jsxImportSource preact */
import { Badge } from '../ui/badge.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Radios, Select, Toggle } from '../ui/choice.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { LONG } from './samples.ts'

const SCOPES = [
  { value: 'standard', label: 'Standard', hint: 'Reads and writes, over HTTP and MCP.' },
  { value: 'ingest', label: 'Ingest', hint: 'Only sends people and events.' },
]

/** What is pressed, typed into and chosen, and what answers. */
export const ControlParts = () => (
  <>
    <section>
      <h2>Button</h2>
      <div class="buttons">
        <Button kind="primary">Make a key</Button>
        <Button>Rename</Button>
        <Button kind="danger">Erase ada@example.com</Button>
        <ButtonLink href="#main">A link</ButtonLink>
        <Button kind="primary" disabled>
          Not now
        </Button>
        <Dialog id="sample-dialog" opener="Revoke" kind="danger" title="Revoke “CI”?">
          <p>Requests with this key are refused from now on. This cannot be undone.</p>
          <form>
            <Button kind="danger">Revoke “CI”</Button>
          </form>
        </Dialog>
      </div>
    </section>
    <section>
      <h2>Field, select, radios, toggle</h2>
      <form>
        <Field name="plain" label="Name" hint="What the key is for." value="Production" autocomplete="off" />
        <Field name="wrong" label="Email" error="Give one plain email address." value="ada@" autocomplete="off" />
        <Field name="long" label="Long" value={LONG} autocomplete="off" optional />
        <Field name="minutes" label="Minutes" kind="number" value="10" autocomplete="off" />
        <Field name="digits" label="Code" kind="code" hint="6 digits." autocomplete="one-time-code" />
        <Field name="text" label="Text" kind="prose" hint="Markdown." value={'Hello,\n\nthere.'} autocomplete="off" />
        <Select name="zone" label="Time zone" value="Europe/Zurich" options={ZONES} />
        <Radios name="scope" label="Scope" value="standard" options={SCOPES} />
        <Toggle name="on" label="Ask again" hint="Once a day at most." isOn />
        <Toggle name="off" label="Add people from the snippet" isOn={false} />
      </form>
    </section>
    <section>
      <h2>Badge and notice</h2>
      <div class="buttons">
        <Badge>Draft</Badge>
        <Badge mood="good">Live</Badge>
        <Badge mood="caution">Seen in a browser</Badge>
        <Badge mood="bad">Revoked</Badge>
      </div>
      <div>
        <Notice kind="error">The service cannot save right now, and nothing was saved.</Notice>
        <Notice kind="caution">The key is shown once, on this page. {LONG}</Notice>
        <Notice kind="info">Nobody has been written to yet.</Notice>
      </div>
    </section>
  </>
)

const ZONES = [
  { value: 'UTC', label: 'UTC' },
  { value: 'Europe/Zurich', label: 'Europe/Zurich' },
]
