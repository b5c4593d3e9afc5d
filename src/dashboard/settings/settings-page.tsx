/** @jsxImportSource preact */
import { type AppSettingsText, localesWith, timezonesWith } from '../../accounts/app-settings.ts'
import { hasRole } from '../../accounts/members.ts'
import type { FieldError } from '../../core/refusals.ts'
import { formatZone } from '../../core/format-time.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Button } from '../ui/button.tsx'
import { Select, Toggle } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Value, Values } from '../ui/values.tsx'
import type { Viewer } from '../layout/viewer.ts'

type SettingsProps = { viewer: Viewer; input: AppSettingsText; errors?: FieldError[]; notice?: string }

export function SettingsPage({ viewer, input, errors = [], notice }: SettingsProps) {
  const isOwner = hasRole(viewer.member.role, 'owner')
  const about = (name: string) => {
    const error = errors.find(({ field }) => field === name)?.message
    return { name, error, autofocus: errors[0]?.field === name, isLocked: !isOwner }
  }
  return (
    <Frame viewer={viewer} page="settings" title="Settings" state={`They hold for ${viewer.app.name} alone.`}>
      {notice && <Notice kind="error">{notice}</Notice>}
      {errors.length > 0 && <Notice kind="error">Nothing was saved yet. Look at the marked fields again.</Notice>}
      {!isOwner && <Notice kind="info">Only owners of the account change these settings.</Notice>}
      <form method="post" action={pathOf(viewer.app.publicId, 'settings')} novalidate>
        <AppFields input={input} about={about} />
        <SnippetFields input={input} about={about} isLocked={!isOwner} />
        {isOwner && <Button kind="primary">Save</Button>}
      </form>
      <IdSection viewer={viewer} />
    </Frame>
  )
}

type About = (name: string) => { name: string; error?: string; autofocus: boolean; isLocked: boolean }
type FieldsProps = { input: AppSettingsText; about: About }

const AppFields = ({ input, about }: FieldsProps) => (
  <section>
    <h2>The app</h2>
    <Field {...about('app')} label="Name" value={input.name} autocomplete="off" />
    <Field
      {...about('home')}
      label="Home page"
      hint="Default link in emails. Starts with https://."
      value={input.home}
      autocomplete="off"
      optional
    />
    <Field
      {...about('domains')}
      label="Own domains"
      kind="lines"
      hint="One a line. Their pages count as yours, and what comes with an event is linked in mails only when it leads to them or below them."
      value={input.domains}
      autocomplete="off"
      optional
    />
    <Select
      {...about('timezone')}
      label="Timezone"
      hint="For times on these pages and in emails."
      value={input.timezone}
      options={timezonesWith(input.timezone).map((zone) => ({ value: zone, label: formatZone(zone) }))}
    />
    <Select
      {...about('locale')}
      label="Locale"
      hint="How emails write numbers, money and dates."
      value={input.locale}
      options={localesWith(input.locale).map(({ locale, name }) => ({ value: locale, label: name }))}
    />
  </section>
)

const SnippetFields = ({ input, about, isLocked }: FieldsProps & { isLocked: boolean }) => (
  <section>
    <h2>The tag on your pages</h2>
    <Field
      {...about('snippetHosts')}
      label="Hosts that may report"
      kind="lines"
      hint="One a line. Without any, every page that has the tag may. It keeps strangers' pages out of your figures; what proves a person is the signature."
      value={input.snippetHosts}
      autocomplete="off"
      optional
    />
    <Toggle
      name="addsPeople"
      label="Add people from the tag"
      hint="Whoever your server has signed becomes one of the people of this app when a page reports them. Without it, only your server adds people."
      isOn={input.addsPeople}
      isLocked={isLocked}
    />
  </section>
)

const IdSection = ({ viewer: { app } }: { viewer: Viewer }) => (
  <section>
    <h2>IDs</h2>
    <p class="hint">They are no secrets, and stay the same for good.</p>
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
