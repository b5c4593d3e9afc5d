/** @jsxImportSource preact */
import { MINUTE_MS } from '../../core/clock.ts'
import { CONFIRMED_MS, type SignedIn } from '../../accounts/sessions.ts'
import { cleanText } from '../../core/visible-text.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, type PageName, pathOf } from '../layout/frame.tsx'
import { CONFIRM_CODE_FIELD, CONFIRM_FIELD, Form } from '../ui/form.tsx'
import type { FormError } from '../ui/field.tsx'
import { SentText } from '../ui/text.tsx'
import { checkOwnPassword, withWait } from './password-check.ts'
import { confirmSecondStep } from './second-step.ts'
import { sessionCookie } from './session-cookie.ts'

/**
 * `to` completes "You are about to ..." and labels the button; `how` only ends the sentence. `from`: the form's page
 * under the app, where Cancel leads; by default the page in the sidebar.
 */
export type Change = { to: string; how?: string; from?: string }

type Sent = { viewer: Viewer; form: FormInput; params: Readonly<Record<string, string>> }

/** `isAlways` asks even after a recent sign-in. `find` names what is changed, as stored; null if it doesn't exist. */
export type Confirm = Change & {
  kind?: 'danger'
  isAlways?: true
  find?: (deps: PageDependencies, sent: Sent) => Promise<Change | null>
}

type Who = Omit<Confirm, 'find'> & { viewer: Viewer; signedIn: SignedIn; page: PageName }

/**
 * Asks for the password (and the code where sign-in settings change) before a sensitive action, then resubmits the same
 * form. Returns the cookies of the session's new token.
 */
export async function askForPassword(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  who: Who,
): Promise<Response | { cookies: string[] }> {
  const { [CONFIRM_FIELD]: password, [CONFIRM_CODE_FIELD]: code = '', ...fields } = form.fields
  const { member } = who.signedIn
  const needsCode = who.isAlways === true && (await deps.store.listTwoStepOn([member.id])).length > 0
  const ask = (status: number, ...errors: FormError[]): Response => {
    const { pathname, search } = new URL(request.url)
    const path = pathname + search
    return pageAnswer(request, status, <ConfirmPage {...{ ...who, path, fields, needsCode, errors }} />)
  }
  if (password === undefined) return ask(200)
  const checked = await checkOwnPassword(deps, request, member, password)
  if ('message' in checked)
    return withWait(ask(checked.status, { field: CONFIRM_FIELD, message: checked.message }), checked)
  const fault = needsCode ? await confirmSecondStep(deps, request, member, code) : null
  if (fault) return withWait(ask(fault.status, { field: CONFIRM_CODE_FIELD, message: fault.message }), fault)
  const outcome = await deps.sessions.confirm(who.signedIn, checked.passwordHash)
  if ('token' in outcome) return { cookies: [sessionCookie(deps.baseUrl, outcome.token)] }
  // the session ended meanwhile: the next request reports it
  return outcome.refusal === 'not_found'
    ? ask(400, { field: CONFIRM_FIELD, message: 'Your password was changed. Enter the new one.' })
    : { cookies: [] }
}

type ConfirmProps = Omit<Who, 'signedIn'> & {
  path: string
  fields: Record<string, string>
  needsCode: boolean
  errors: FormError[]
}

const labelOf = (to: string): string => {
  const label = cleanText(to) ?? to
  return label.slice(0, 1).toUpperCase() + label.slice(1)
}

const ConfirmPage = ({
  viewer,
  page,
  to,
  how,
  from,
  kind,
  isAlways,
  path,
  fields,
  needsCode,
  errors,
}: ConfirmProps) => (
  <Frame
    viewer={viewer}
    page={page}
    title="Confirm your password"
    state={
      <>
        You are about to <SentText>{to}</SentText>
        {how !== undefined && ` ${how}`}.{' '}
        {isAlways
          ? 'This changes how you sign in, so it always needs your password.'
          : `You last entered your password more than ${CONFIRMED_MS / MINUTE_MS} minutes ago.`}
      </>
    }
  >
    <Form
      action={path}
      hidden={fields}
      username={viewer.member.email}
      confirm={{ needsCode }}
      errors={errors}
      submit={labelOf(to)}
      kind={kind}
      cancel={from === undefined ? pathOf(viewer.app.publicId, page) : `/apps/${viewer.app.publicId}/${from}`}
    />
  </Frame>
)
