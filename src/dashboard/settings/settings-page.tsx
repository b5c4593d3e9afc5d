/** @jsxImportSource preact */
import { type AppSettingsText, localesWith, timezonesWith } from '../../accounts/app-settings.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeDays, type Retention } from '../../accounts/retention.ts'
import type { FieldError } from '../../core/refusals.ts'
import { formatZone } from '../../core/format-time.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Select, Toggle } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { Form, describeUnsaved } from '../ui/form.tsx'
import { Value, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'

export type SettingsProps = {
  viewer: Viewer
  input: AppSettingsText
  /** marks of the settings that the form was filled from */
  basedOn: string
  errors?: FieldError[]
  notice?: string
}

export const SettingsPage = ({ viewer, input, basedOn, errors = [], notice }: SettingsProps) => (
  <Frame
    viewer={viewer}
    page="settings"
    title="Settings"
    state={`Name, domains, timezone, browser script and data retention of ${viewer.app.name}.`}
  >
    <Form
      action={pathOf(viewer.app.publicId, 'settings')}
      hidden={{ basedOn }}
      errors={errors}
      notice={errors.length > 0 ? describeUnsaved(errors) : notice}
      locked={!hasRole(viewer.member.role, 'owner') && 'Only owners of the account can change these settings.'}
      submit="Save"
    >
      <AppFields input={input} />
      <SnippetFields input={input} />
      <RetentionFields input={input} />
    </Form>
    <IdSection viewer={viewer} />
    <ConnectSection viewer={viewer} />
  </Frame>
)

type FieldsProps = { input: AppSettingsText }

const AppFields = ({ input }: FieldsProps) => (
  <section>
    <h2>App</h2>
    <Field name="app" label="Name" value={input.name} autocomplete="off" />
    <Field
      name="home"
      label="Home page"
      hint="Default link in emails. https://, or http:// on localhost."
      value={input.home}
      autocomplete="off"
      optional
    />
    <Field
      name="domains"
      label="Domains"
      kind="lines"
      hint="One per line, without ports. Emails link only to these and their subdomains."
      value={input.domains}
      autocomplete="off"
      optional
    />
    <Select
      name="timezone"
      label="Timezone"
      hint="For times on these pages and in emails."
      value={input.timezone}
      options={timezonesWith(input.timezone).map((zone) => ({ value: zone, label: formatZone(zone) }))}
    />
    <Select
      name="locale"
      label="Locale"
      hint="For numbers, money and dates in emails."
      value={input.locale}
      options={localesWith(input.locale).map(({ locale, name }) => ({ value: locale, label: name }))}
    />
  </section>
)

const SnippetFields = ({ input }: FieldsProps) => (
  <section>
    <h2>Browser script</h2>
    <Field
      name="snippetHosts"
      label="Allowed hosts"
      kind="lines"
      hint="One per line. Default: any host."
      value={input.snippetHosts}
      autocomplete="off"
      optional
    />
    <Toggle
      name="addsPeople"
      label="Add people from the browser"
      hint="Pages can add people whose email your server signed."
      isOn={input.addsPeople}
    />
  </section>
)

const RetentionFields = ({ input }: FieldsProps) => (
  <section id="retention">
    <h2>Data retention</h2>
    <p class="hint">
      Older data is deleted and can't be restored. Message rules and simulations use only what is still stored. Of
      requests, the log is kept for 7 days, and responses for <code>Idempotency-Key</code> for 24 hours.{' '}
      <a href="/docs/privacy">What Eventpost stores</a>
    </p>
    <div class="pair">
      <Days name="eventDays" label="Days to keep events" value={input.eventDays} />
      <Days name="pageViewDays" label="Days to keep page views" value={input.pageViewDays} />
    </div>
    <Days name="capturedDays" label="Days to keep captured emails" value={input.capturedDays} />
  </section>
)

const Days = (props: { name: keyof Retention; label: string; value: string }) => (
  <Field
    {...props}
    hint={`${describeDays(props.name)} days`}
    kind="number"
    placeholder="No limit"
    autocomplete="off"
    optional
  />
)

const IdSection = ({ viewer: { app } }: { viewer: Viewer }) => (
  <section>
    <h2>IDs</h2>
    <p class="hint">Not secret. They never change.</p>
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

/** Activation leaves the sidebar once something arrived. */
const ConnectSection = ({ viewer: { app } }: { viewer: Viewer }) => (
  <section>
    <h2>Connect your app</h2>
    <p>
      <a href={pathOf(app.publicId, 'activation')}>Activation</a> has the code for your server, the script tag and a
      signature check.
    </p>
  </section>
)
