/** @jsxImportSource preact */
import { type AppSettingsText, localesWith, timezonesWith } from '../../accounts/app-settings.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeDays, REQUEST_DAYS, RESPONSE_DAYS, type Retention } from '../../accounts/retention.ts'
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
    state={`Name, domains, timezone, browser script and data retention for ${viewer.app.name}.`}
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

type ConfirmProps = { viewer: Viewer; what: string; fields: Record<string, string> }

/** Before fewer days delete data that is stored. */
export const ConfirmDeletionPage = ({ viewer, what, fields }: ConfirmProps) => {
  const path = pathOf(viewer.app.publicId, 'settings')
  return (
    <Frame
      viewer={viewer}
      page="settings"
      title="Delete older data?"
      state={`${what} This can't be undone. Nothing is saved yet.`}
    >
      <Form
        action={path}
        hidden={{ ...fields, confirmed: 'on' }}
        submit="Save and delete older data"
        kind="danger"
        cancel={path}
      />
    </Frame>
  )
}

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
      hint="One per line, without ports. Emails link to results only on these and their subdomains."
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
      Older data is deleted and can't be restored. Rules and simulations use only what is still stored.{' '}
      <a href="/docs/retention">About data retention</a>
    </p>
    <div class="pair thirds">
      <Days name="eventDays" label="Days to keep events" value={input.eventDays} />
      <Days name="pageViewDays" label="Days to keep page views" value={input.pageViewDays} />
      <Days name="capturedDays" label="Days to keep captured emails" value={input.capturedDays} />
      <Days name="requestDays" label="Days to keep the request log" value={input.requestDays} ifEmpty={REQUEST_DAYS} />
      <Days
        name="responseDays"
        label="Days to keep Idempotency-Key responses"
        value={input.responseDays}
        ifEmpty={RESPONSE_DAYS}
      />
    </div>
  </section>
)

type DaysProps = { name: keyof Retention; label: string; value: string; ifEmpty?: number }

const Days = ({ ifEmpty, ...props }: DaysProps) => (
  <Field
    {...props}
    hint={`${describeDays(props.name)} days.${ifEmpty === undefined ? '' : ` Default: ${ifEmpty}.`}`}
    kind="number"
    placeholder={ifEmpty?.toString() ?? 'No limit'}
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
