/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createApp } from '../../accounts/accounts.ts'
import { readAppText } from '../../accounts/account-input.ts'
import { hasRole } from '../../accounts/members.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { refuseRole, showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'

/** For owners; ends on the app's Activation page. */
export const newAppRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/new-app', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, request, viewer)
        return pageAnswer(request, 200, <NewAppPage viewer={viewer} input={{ app: '', domain: '' }} />)
      }),
    )
    .post(
      '/apps/:app/new-app',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'owner' }, (form, viewer) => makeApp(deps, request, form, viewer)),
      { parse: 'none' },
    )

async function makeApp(
  { store, clock, access, baseUrl }: Pick<PageDependencies, 'store' | 'clock' | 'access' | 'baseUrl'>,
  request: Request,
  form: Form,
  viewer: Viewer,
): Promise<Response> {
  const input = { app: form.text('app'), domain: form.text('domain') }
  const domains = input.domain.trim() === '' ? [] : [input.domain]
  const reading = readAppText({ appName: input.app, domains, home: null })
  if ('errors' in reading)
    return pageAnswer(request, 400, <NewAppPage viewer={viewer} input={input} errors={reading.errors} />)
  const { appName: name, ...rest } = reading.input
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const made = await createApp(maker, viewer.account.id, { name, ...rest })
  if ('refusal' in made) {
    const { status, message } = REFUSALS[made.refusal]
    return pageAnswer(request, status, <NewAppPage viewer={viewer} input={input} notice={message} />)
  }
  access.forget()
  return redirectAnswer(pathOf(made.appId, 'activation'), [flashCookie(baseUrl, 'app_made')])
}

type NewAppProps = {
  viewer: Viewer
  input: { app: string; domain: string }
  errors?: FieldError[]
  notice?: string
}

function NewAppPage({ viewer, input, errors = [], notice }: NewAppProps) {
  const errorOf = (name: string) => errors.find(({ field }) => field === name)?.message
  const action = pathOf(viewer.app.publicId, 'new-app')
  return (
    <Frame
      viewer={viewer}
      page="new-app"
      title="New app"
      state={`A further app of the account ${viewer.account.name}, with people and events of its own. Keys work for all apps.`}
    >
      {notice && <Notice kind="error">{notice}</Notice>}
      <form method="post" action={action} novalidate>
        <Field
          name="app"
          label="App name"
          hint="The name of your product."
          error={errorOf('app')}
          value={input.app}
          autofocus
          autocomplete="off"
        />
        <Field
          name="domain"
          label="The app's own domain"
          hint="Such as app.example.com. What comes with an event is linked in emails only when it leads there, or to a domain below it."
          error={errorOf('domain')}
          value={input.domain}
          autocomplete="off"
          optional
        />
        <div class="buttons">
          <Button kind="primary">Make the app</Button>
          <ButtonLink href={pathOf(viewer.app.publicId, 'activation')}>Cancel</ButtonLink>
        </div>
      </form>
    </Frame>
  )
}
