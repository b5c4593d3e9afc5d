/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Tabs } from './tabs.tsx'

type MailPreviewProps = {
  /** this preview's own on its page */
  name: string
  from: string
  subject: string
  text: string
  /** the mail as it is laid out; drawn twice, once for each width */
  children: ComponentChildren
}

/** A mail as its reader will see it: on a phone, on a desk, and where pictures and layout are off. */
export const MailPreview = ({ name, from, subject, text, children }: MailPreviewProps) => (
  <div class="mail">
    <dl>
      <div>
        <dt>From</dt>
        <dd>{from}</dd>
      </div>
      <div>
        <dt>Subject</dt>
        <dd>{subject}</dd>
      </div>
    </dl>
    <Tabs
      name={name}
      label="View of the mail"
      tabs={[
        { id: 'phone', name: 'Phone', content: <div class="sheet phone">{children}</div> },
        { id: 'desktop', name: 'Desktop', content: <div class="sheet">{children}</div> },
        { id: 'text', name: 'Text', content: <pre class="sheet">{text}</pre> },
      ]}
    />
  </div>
)
