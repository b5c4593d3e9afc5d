/** @jsxImportSource preact */
import { CONFIRMED_MS, type SignedIn } from '../core/sessions.ts'
import { pageAnswer } from './answers.ts'
import type { PageParts } from './door.tsx'
import type { Form } from './forms.ts'
import { Frame, type PageName, pathOf } from './frame.tsx'
import { Button, ButtonLink, HiddenFields } from './parts/button.tsx'
import { Field } from './parts/field.tsx'
import { checkOwnPassword, withWait } from './password-check.ts'
import { sessionCookie } from './session-cookie.ts'
import type { Viewer } from './viewer.ts'

/** Beside the fields of the form that waits for it. */
export const CONFIRM_FIELD = 'confirmPassword'

/** What is about to be done, as the end of "You are about to ..."; `isAlways`: not only when it was typed long ago. */
export type Confirm = { to: string; isAlways?: true }

/** `page` is where it was asked for, and where cancelling leads. */
type Who = Confirm & { viewer: Viewer; signedIn: SignedIn; page: PageName }

/**
 * The step before something that must not be done by whoever finds a screen unlocked (promises 14): shows a page that
 * asks for the password and sends the same form again. Once it is right, gives the cookies of the session's new token.
 */
export async function askForPassword(
  parts: PageParts,
  request: Request,
  form: Form,
  who: Who,
): Promise<Response | { cookies: string[] }> {
  const { [CONFIRM_FIELD]: password, ...fields } = form.fields
  const ask = (status: number, error?: string): Response =>
    pageAnswer(
      request,
      status,
      <ConfirmPage {...who} path={new URL(request.url).pathname} fields={fields} error={error} />,
    )
  if (password === undefined) return ask(200)
  const checked = await checkOwnPassword(parts, request, who.signedIn.member, password)
  if ('message' in checked) return withWait(ask(checked.status, checked.message), checked)
  const outcome = await parts.sessions.confirm(who.signedIn, checked.passwordHash)
  if ('token' in outcome) return { cookies: [sessionCookie(parts.baseUrl, outcome.token)] }
  // otherwise nothing can be stored now: what comes next says so
  return outcome.refusal === 'not_found' ? ask(400, 'The password was changed. Type the new one.') : { cookies: [] }
}

type ConfirmProps = Omit<Who, 'signedIn'> & { path: string; fields: Record<string, string>; error?: string }

const ConfirmPage = ({ viewer, page, to, isAlways, path, fields, error }: ConfirmProps) => (
  <Frame
    viewer={viewer}
    page={page}
    title="Your password, again"
    state={`You are about to ${to}. ${
      isAlways
        ? 'That changes how you sign in, so you are asked each time.'
        : `You typed your password more than ${CONFIRMED_MS / 60_000} minutes ago.`
    }`}
  >
    <form method="post" action={path} novalidate>
      <HiddenFields fields={fields} />
      <input type="hidden" autocomplete="username" value={viewer.member.email} />
      <Field
        name={CONFIRM_FIELD}
        label="Password"
        kind="password"
        error={error}
        autofocus
        autocomplete="current-password"
      />
      <div class="buttons">
        <Button kind="primary">Go on</Button>
        <ButtonLink href={pathOf(viewer.app.publicId, page)}>Cancel</ButtonLink>
      </div>
    </form>
  </Frame>
)
