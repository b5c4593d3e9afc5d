/** @jsxImportSource preact */
import { SAYS, type ShownPreview } from './editor-props.ts'
import { render } from 'preact-render-to-string'
import type { Preview, SampleChoice } from '../../deliveries/message-preview.ts'
import { OWN_TEXT } from '../../messages/mail-texts.ts'
import { proposeFallback } from '../../messages/message-checks.ts'
import { readMissing } from '../../messages/template-faults.ts'
import { nameLanguage } from '../../core/languages.ts'
import type { FieldError } from '../../core/refusals.ts'
import { describeMailbox } from '../../core/mail-addresses.ts'
import { pathOf } from '../layout/frame.tsx'
import type { MailFrames } from '../deliveries/mail-frames.ts'
import { Properties } from './message-mail.tsx'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { MailPreview } from '../ui/mail-preview.tsx'
import { Notice } from '../ui/notice.tsx'
import { SentText } from '../ui/text.tsx'
import { formatAge } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Stores the rendered email for its frames. */
export function showPreview(frames: MailFrames, { app }: Viewer, preview: Preview): ShownPreview {
  const { mail, from } = preview
  if (!('html' in mail)) return { preview, mail: null }
  const src = `/apps/${app.publicId}/mail-frames/${frames.keep(app.id, mail.html)}`
  const shownFrom = from === null ? 'No sender yet' : describeMailbox(from)
  return { preview, mail: { from: shownFrom, subject: mail.subject, text: mail.text, src } }
}

/** `variants`: languages to choose from; `language`: the chosen one. */
type PreviewProps = ShownPreview & { viewer: Viewer; path: string; view: string; now: number } & {
  variants: string[]
  language: string
}

/** islands/message.ts keeps it up to date. */
export const PreviewSection = ({ viewer, path, view, now, variants, language, preview, mail }: PreviewProps) => (
  <section id="preview" aria-label="Preview" data-pane="preview" data-preview={`${path}/preview`}>
    <div class="beside" id="preview-sample">
      <SampleSelect preview={preview} now={now} />
      {variants.length > 0 && (
        <Select
          name="language"
          label="Language"
          value={language}
          options={[
            { value: '', label: "The person's" },
            { value: OWN_TEXT, label: 'Default text' },
            ...variants.map((name) => ({ value: name, label: nameLanguage(name) })),
          ]}
        />
      )}
      <Button name="do" value="preview" formaction={`${path}#preview`}>
        Preview
      </Button>
    </div>
    <div id="preview-said" role="status">
      <Said viewer={viewer} preview={preview} />
    </div>
    <MailPreview name="view" selected={view} mail={mail} />
  </section>
)

/** What will happen, for the dialog. */
export const Says = ({ lines }: { lines: readonly string[] }) => (
  <>
    {lines.map((line) => (
      <li key={line}>
        <SentText>{line}</SentText>
      </li>
    ))}
  </>
)

/** `says`: what the message does; null while incomplete. `date`: the field with the trigger's date, or empty. */
type Typed = { viewer: Viewer; says: string[] | null; date: string; now: number }

/** Used by islands/message.ts: HTML by element id, and the email. */
export const previewParts = ({ viewer, preview, mail, says, date, now }: ShownPreview & Typed) => ({
  fragments: {
    ...(says === null ? {} : { [SAYS]: render(<Says lines={says} />) }),
    'preview-said': render(<Said viewer={viewer} preview={preview} />),
    sample: render(<SampleOptions preview={preview} now={now} />),
    properties: render(<Properties names={preview.properties} fields={preview.fields} date={date} />),
    'property-names': render(<NameOptions names={preview.properties} />),
  },
  mail: mail && {
    from: render(<SentText>{mail.from}</SentText>),
    subject: render(<SentText>{mail.subject}</SentText>),
    text: mail.text,
    src: mail.src,
  },
})

export const NameOptions = ({ names }: { names: string[] }) => (
  <>
    {names.map((name) => (
      <option key={name} value={name} />
    ))}
  </>
)

const SampleSelect = ({ preview, now }: { preview: Preview; now: number }) => (
  <Select name="sample" label="Preview for" value={preview.sample?.id ?? ''} options={optionsOf(preview, now)} />
)

const SampleOptions = ({ preview, now }: { preview: Preview; now: number }) => (
  <>
    {optionsOf(preview, now).map(({ value, label }) => (
      <option key={value} value={value} selected={value === (preview.sample?.id ?? '')}>
        {label}
      </option>
    ))}
  </>
)

const optionsOf = ({ choices }: Preview, now: number) => [
  ...(choices.some(({ isMadeUp }) => !isMadeUp) ? [] : [{ value: '', label: MADE_UP_NAME }]),
  ...choices.map((choice) => ({ value: choice.id, label: describeSample(choice, now) })),
]

const MADE_UP_NAME = 'Sample person'

function describeSample({ contact, event, joined, isMadeUp }: SampleChoice, now: number): string {
  const events = joined.length === 0 ? '' : `, ${joined.length + 1} events`
  if (isMadeUp) return MADE_UP_NAME + events
  return event ? `${contact.email}, ${formatAge(event.receivedAt, now)}${events}` : contact.email
}

const MADE_UP_SEVERAL = 'A sample person with several events in one email.'
const MADE_UP = 'A sample person with sample values.'
const UNTRIGGERED = 'Nobody has triggered it yet, so this shows a sample person with sample values.'

type SaidProps = { viewer: Viewer; preview: Preview }

function Said({ viewer, preview }: SaidProps) {
  const { sample, mail, isTriggered } = preview
  return (
    <>
      {!sample && <p class="hint">{isTriggered ? UNTRIGGERED : MADE_UP}</p>}
      {sample?.isMadeUp && <p class="hint">{MADE_UP_SEVERAL}</p>}
      {sample && sample.unsent !== null && (
        <Notice kind="caution">
          <SentText>{sample.unsent}</SentText>
        </Notice>
      )}
      {preview.variant !== null && <p class="hint">{`The text in ${nameLanguage(preview.variant)}.`}</p>}
      <Fault viewer={viewer} preview={preview} />
      {'refusedLinks' in mail && mail.refusedLinks.length > 0 && (
        <RefusedLinks
          viewer={viewer}
          links={mail.refusedLinks}
          isMadeUp={sample === null || sample.isMadeUp === true}
        />
      )}
    </>
  )
}

const PART_NAMES = new Map([
  ['mail.subject', 'subject'],
  ['mail.preheader', 'preview text'],
  ['mail.body', 'text'],
  ['mail.html', 'HTML'],
])

/** The checklist and the fields say what is wrong. */
function describeParts(problems: FieldError[]): string {
  const parts = new Set(problems.map(({ field }) => PART_NAMES.get(field.replace(/variants\..*\./, '')) ?? 'email'))
  return `Fix the ${new Intl.ListFormat('en').format(parts)}`
}

/** A fault of the template, or else of this person's values. */
function Fault({ viewer, preview: { sample, mail, problems } }: SaidProps) {
  if (problems.length > 0) return <p class="hint">{`${describeParts(problems)} to see the email.`}</p>
  if ('broken' in mail) return <Notice kind="caution">{`Template error: ${mail.broken}.`}</Notice>
  if (!('missing' in mail)) return null
  if (mail.missing === 'subject') return <p class="hint">Add a subject and text to see the email.</p>
  return <Notice kind="caution">{describeMissing(mail.missing, sample, viewer)}</Notice>
}

type RefusedProps = { viewer: Viewer; links: string[]; isMadeUp: boolean }

/** Made-up addresses are not reported. */
const RefusedLinks = ({ viewer, links, isMadeUp }: RefusedProps) => {
  const domains = <a href={pathOf(viewer.app.publicId, 'settings')}>domains</a>
  return isMadeUp && viewer.app.hosts.length === 0 ? (
    <Notice kind="caution">
      This app has no {domains} yet. Emails link to event values only on the app's domains, so these links are left out.
    </Notice>
  ) : (
    <Notice kind="caution">
      The email has no link to <SentText most={300}>{links.map((link) => `“${link}”`).join(', ')}</SentText>. Emails
      link to event values only on this app's {domains}, and to other addresses only with https://, http:// or mailto:.
    </Notice>
  )
}

function describeMissing(name: string, sample: SampleChoice | null, { app }: Viewer): string {
  const where =
    sample === null || sample.isMadeUp
      ? 'for this person'
      : sample.event
        ? `in the event from ${sample.contact.email}`
        : `for ${sample.contact.email}`
  const { variable, lacks } = readMissing(name, ` ${where}`)
  return `${variable} has ${lacks}, so the email isn't sent. Add a fallback: ${proposeFallback(variable, app)}.`
}
