/** @jsxImportSource preact */
import { SANDBOX } from '../islands/mail-scheme.ts'
import { Tabs } from './tabs.tsx'
import { SentText } from './text.tsx'

type MailPreviewProps = {
  /** unique id on the page */
  name: string
  /** selected view */
  selected?: string
  mail: ShownMail | null
}

/** `src`: URL of the rendered email, with its own policy. `raw`: the captured source. */
export type ShownMail = { from: string; subject: string; text: string; src: string; raw?: string }

/** Phone, desktop and text views, light or dark; empty without an email. */
export const MailPreview = ({ name, selected, mail }: MailPreviewProps) => (
  <div class="mail" data-mail>
    <dl>
      <div>
        <dt>From</dt>
        <dd data-mail-part="from">{mail && <SentText>{mail.from}</SentText>}</dd>
      </div>
      <div>
        <dt>Subject</dt>
        <dd data-mail-part="subject">{mail && <SentText>{mail.subject}</SentText>}</dd>
      </div>
    </dl>
    <Tabs
      name={name}
      label="Email view"
      selected={selected === '' ? undefined : selected}
      tabs={[
        { id: 'phone', name: 'Phone', content: <MailFrame kind="phone" src={mail?.src} /> },
        { id: 'desktop', name: 'Desktop', content: <MailFrame kind="desktop" src={mail?.src} /> },
        {
          id: 'text',
          name: 'Plain text',
          content: (
            <pre class="sheet" tabindex={0} role="region" aria-label="Plain text of the email" data-mail-part="text">
              {mail?.text}
            </pre>
          ),
        },
        ...(mail?.raw === undefined ? [] : [{ id: 'raw', name: 'Source', content: <Source>{mail.raw}</Source> }]),
      ]}
    >
      <label class="dark-mail">
        <input type="checkbox" id={`${name}-dark`} /> Dark
      </label>
    </Tabs>
  </div>
)

const Source = ({ children }: { children: string }) => (
  <pre class="sheet raw" tabindex={0} role="region" aria-label="Source of the email">
    {children}
  </pre>
)

/** For the keyboard, in windows narrower than a desktop's. */
const SCROLLED = { tabindex: 0, role: 'region', 'aria-label': 'Desktop width' } as const

/** Sandboxed. islands/message.ts reuses the title. */
const MailFrame = ({ kind, src }: { kind: 'phone' | 'desktop'; src?: string }) => (
  <div class={`screen ${kind}`} data-mail-frame={`Email on a ${kind}`} {...(kind === 'desktop' && SCROLLED)}>
    {src && <iframe src={src} title={`Email on a ${kind}`} sandbox={SANDBOX} loading="lazy" />}
  </div>
)
