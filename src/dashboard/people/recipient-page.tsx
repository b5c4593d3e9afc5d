/** @jsxImportSource preact */
import type { ComponentChildren, VNode } from 'preact'
import { type PageTextName, sayPageText } from '../../accounts/app-texts.ts'
import { findTheme } from '../../mail/theme.ts'
import type { RecipientLook } from '../../people/unsubscribe.ts'
import { pageAnswer } from '../layout/answers.ts'
import { AppLayout } from '../layout/layout.tsx'

/** `path`: of the link in the email. */
export type Recipient = RecipientLook & { path: string }

type PageProps = Recipient & { title: string; lead: string; children?: ComponentChildren }

/** A page behind a link in an email, in the look of the app's emails. */
export const RecipientPage = ({
  appName,
  logoUrl,
  colour,
  texts: { lang },
  path,
  title,
  lead,
  children,
}: PageProps) => (
  <AppLayout {...{ title, lead, appName, logoUrl, lang }} look={colour === null ? undefined : `${path}/look.css`}>
    {children}
  </AppLayout>
)

/** Lets the page show the app's logo. */
export function recipientAnswer(
  request: Request,
  status: number,
  { logoUrl }: Pick<Recipient, 'logoUrl'>,
  page: VNode,
): Response {
  const answer = pageAnswer(request, status, page)
  const origin = logoUrl === null ? '' : new URL(logoUrl).origin
  // a host may hold a semicolon, which would begin another directive
  if (/^https:\/\/[\w.-]+(?::\d+)?$/.test(origin)) {
    const policy = answer.headers.get('Content-Security-Policy') ?? ''
    answer.headers.set('Content-Security-Policy', policy.replace('img-src', `img-src ${origin}`))
  }
  return answer
}

const LOOK_HEADERS = { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'no-store' }

/** A stylesheet with the colour of the app's emails, for buttons. */
export const lookAnswer = (found: Pick<Recipient, 'colour'> | null): Response =>
  new Response(writeLook(found?.colour ?? null), { headers: LOOK_HEADERS })

function writeLook(colour: string | null): string {
  if (colour === null) return ''
  const { button, onButton } = findTheme(colour).light
  return `.button.primary,.button.primary:hover{background:${button};color:${onButton}}\n`
}

/** `topic`: its name. */
export const say = ({ texts, appName, address }: RecipientLook, name: PageTextName, topic?: string): string =>
  sayPageText(texts, name, { app: appName ?? '', email: address ?? '', topic })

export const unknownLink = (request: Request): Response =>
  pageAnswer(
    request,
    404,
    <AppLayout
      appName={null}
      title="This link does not work"
      lead="The link may be incomplete. Open it from the email again, or copy the whole link. If it still doesn't work, reply to the email to ask the sender for help."
    />,
  )
