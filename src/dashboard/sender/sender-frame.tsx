/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { hasRole } from '../../accounts/members.ts'
import type { MailSettings, SenderForm } from '../../accounts/sender-settings.ts'
import { describeMailbox } from '../../core/mail-addresses.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { LearnedLimits, MailRoute } from '../../messages/mailer.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { MailNotices } from '../layout/mail-notices.tsx'
import type { MailState } from '../../monitoring/mail-state.ts'
import type { Viewer } from '../layout/viewer.ts'
import { describeUnsaved, Form, FormNotices, type FormProps } from '../ui/form.tsx'
import { MailPreview, type ShownMail } from '../ui/mail-preview.tsx'
import { SectionLinks } from '../ui/sections.tsx'

/** What every page of Sender shows. */
export type SenderFacts = {
  viewer: Viewer
  mail: MailState
  mailRoute: MailRoute
  limits: LearnedLimits | null
  /** when the mail server last took an email (ms UTC) */
  acceptedAt: number | null
  settings: MailSettings
  /** marks of the settings that each form is filled from */
  marks: Record<SenderForm, string>
  baseUrl: string
  /** of the URL that Amazon SNS posts to */
  topicToken: string
}

/** A form that was refused: its input, its errors and the marks it was filled from. */
export type Refused<Text> = { text?: Text; basedOn?: string; errors?: FieldError[]; notice?: string }

const PAGES = {
  sender: 'From and appearance',
  'sender/layout': 'Layout',
  'sender/texts': 'Texts',
  'sender/server': 'Mail server',
  'sender/domain': 'Domain',
  'sender/limits': 'Hours and limits',
  'sender/topics': 'Topics',
  'sender/opt-in': 'Double opt-in',
  'sender/rates': 'Bounces and complaints',
} as const

export type SenderPageName = keyof typeof PAGES

type FrameProps = {
  facts: SenderFacts
  current: SenderPageName
  state: ComponentChildren
  refused?: Refused<unknown>
  children: ComponentChildren
}

export const SenderFrame = ({ facts: { viewer, mail }, current, state, refused, children }: FrameProps) => {
  const isWrong = (refused?.errors?.length ?? 0) > 0
  const locked = !isOwner(viewer) && 'Only owners of the account can change these settings.'
  return (
    <Frame viewer={viewer} page="sender" title={PAGES[current]} tabTitle={`${PAGES[current]} - Sender`} state={state}>
      <SectionLinks
        label="Sender"
        links={(Object.keys(PAGES) as SenderPageName[]).map((name) => ({
          name: PAGES[name],
          href: pathOf(viewer.app.publicId, name),
          isCurrent: name === current,
        }))}
      />
      <FormNotices
        notice={refused?.notice ?? (isWrong ? describeUnsaved(refused?.errors ?? []) : undefined)}
        locked={locked}
      />
      <MailNotices viewer={viewer} state={mail} on={current} />
      {children}
    </Frame>
  )
}

type SettingsProps = Omit<FormProps, 'action' | 'errors' | 'isLocked'> & {
  facts: SenderFacts
  page: SenderPageName
  refused: Refused<unknown>
  /** whose mark it is filled from */
  of: SenderForm
}

/** For owners: settings that nobody else changed since. */
export const SettingsForm = ({ facts: { viewer, marks }, page, refused, of, hidden, ...form }: SettingsProps) => (
  <Form
    {...form}
    action={pathOf(viewer.app.publicId, page)}
    hidden={{ basedOn: refused.basedOn ?? marks[of], ...hidden }}
    errors={refused.errors}
    isLocked={!isOwner(viewer)}
  />
)

/** Beside a form. */
export const SampleAside = ({ title, mail }: { title: string; mail: ShownMail }) => (
  <aside aria-label={title}>
    <section>
      <h2>{title}</h2>
      <MailPreview name="sample" mail={mail} />
    </section>
  </aside>
)

export const isOwner = ({ member }: Viewer): boolean => hasRole(member.role, 'owner')

export const describeFrom = (from: MailRoute['from']): string =>
  from === null ? 'No sender yet' : describeMailbox(from)
