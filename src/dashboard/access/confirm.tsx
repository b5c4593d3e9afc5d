/** @jsxImportSource preact */
import { CONFIRMED_MS, type SignedIn } from '../../accounts/sessions.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import type { Form } from '../layout/forms.ts'
import { Frame, type PageName, pathOf } from '../layout/frame.tsx'
import { Button, ButtonLink, HiddenFields } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { checkOwnPassword, withWait } from './password-check.ts'
import { confirmSecondStep } from './second-step.ts'
import { sessionCookie } from './session-cookie.ts'

/** Form fields added to the form being confirmed. */
export const CONFIRM_FIELD = 'confirmPassword'
export const CONFIRM_CODE_FIELD = 'confirmCode'

/** `to` completes "You are about to ..."; `isAlways` asks even after a recent sign-in. */
export type Confirm = { to: string; isAlways?: true }

/** `page` is where the form was and where Cancel leads. */
type Who = Confirm & { viewer: Viewer; signedIn: SignedIn; page: PageName }

/**
 * Asks for the password (and the code where sign-in settings change) before a sensitive action, then resubmits the same
 * form. Returns the cookies of the session's new token.
 */
export async function askForPassword(
  deps: PageDependencies,
  request: Request,
  form: Form,
  who: Who,
): Promise<Response | { cookies: string[] }> {
  const { [CONFIRM_FIELD]: password, [CONFIRM_CODE_FIELD]: code = '', ...fields } = form.fields
  const { member } = who.signedIn
  const needsCode = who.isAlways === true && (await deps.store.listTwoStepOn([member.id])).length > 0
  const ask = (status: number, errors: ConfirmErrors = {}): Response => {
    const path = new URL(request.url).pathname
    return pageAnswer(request, status, <ConfirmPage {...{ ...who, path, fields, needsCode, errors }} />)
  }
  if (password === undefined) return ask(200)
  const checked = await checkOwnPassword(deps, request, member, password)
  if ('message' in checked) return withWait(ask(checked.status, { password: checked.message }), checked)
  const fault = needsCode ? await confirmSecondStep(deps, request, member, code) : null
  if (fault) return withWait(ask(fault.status, { code: fault.message }), fault)
  const outcome = await deps.sessions.confirm(who.signedIn, checked.passwordHash)
  if ('token' in outcome) return { cookies: [sessionCookie(deps.baseUrl, outcome.token)] }
  // the session ended meanwhile: the next request reports it
  return outcome.refusal === 'not_found'
    ? ask(400, { password: 'The password was changed. Type the new one.' })
    : { cookies: [] }
}

type ConfirmErrors = { password?: string; code?: string }

type ConfirmProps = Omit<Who, 'signedIn'> & {
  path: string
  fields: Record<string, string>
  needsCode: boolean
  errors: ConfirmErrors
}

const ConfirmPage = ({ viewer, page, to, isAlways, path, fields, needsCode, errors }: ConfirmProps) => (
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
        error={errors.password}
        autofocus={errors.code === undefined}
        autocomplete="current-password"
      />
      {needsCode && (
        <Field
          name={CONFIRM_CODE_FIELD}
          label="Code"
          hint="6 digits of your authenticator app, or a recovery code."
          error={errors.code}
          autofocus={errors.code !== undefined}
          autocomplete="one-time-code"
        />
      )}
      <div class="buttons">
        <Button kind="primary">Go on</Button>
        <ButtonLink href={pathOf(viewer.app.publicId, page)}>Cancel</ButtonLink>
      </div>
    </form>
  </Frame>
)
