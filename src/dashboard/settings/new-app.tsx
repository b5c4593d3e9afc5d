/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createApp } from '../../accounts/accounts.ts'
import { readAppText } from '../../accounts/account-input.ts'
import { hasRole } from '../../accounts/members.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { Frame, homePath, pathOf } from '../layout/frame.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'

/** For owners; ends on the app's Activation page. */
export const newAppRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/new-app', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, request, viewer)
        return pageAnswer(request, 200, <NewAppPage viewer={viewer} input={{ app: '', domain: '' }} />)
      }),
    )
    .post('/apps/:app/new-app', onForm(deps, { role: 'owner' }, makeApp), { parse: 'none' })

async function makeApp(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const { store, clock, access, baseUrl } = deps
  const input = { app: form.text('app'), domain: form.text('domain') }
  const refuse = (status: number, errors: FieldError[], notice?: string) =>
    pageAnswer(request, status, <NewAppPage {...{ viewer, input, errors, notice }} />)
  const domains = input.domain.trim() === '' ? [] : [input.domain]
  const reading = readAppText({ appName: input.app, domains, home: null })
  if ('errors' in reading) return refuse(400, reading.errors)
  const { appName: name, ...rest } = reading.input
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const made = await createApp(maker, viewer.account.id, { name, ...rest })
  if ('refusal' in made) return refuse(REFUSALS[made.refusal].status, [], REFUSALS[made.refusal].message)
  access.forget()
  return redirectAnswer(pathOf(made.appId, 'activation'), [flashCookie(baseUrl, 'app_made')])
}

type NewAppProps = {
  viewer: Viewer
  input: { app: string; domain: string }
  errors?: FieldError[]
  notice?: string
}

const NewAppPage = ({ viewer, input, errors, notice }: NewAppProps) => (
  <Frame
    viewer={viewer}
    page="new-app"
    title="New app"
    state={`The new app belongs to the account ${viewer.account.name} and has its own people and events. API keys work for all apps in the account.`}
  >
    <Form
      action={pathOf(viewer.app.publicId, 'new-app')}
      errors={errors}
      notice={notice}
      submit="Create the app"
      cancel={homePath(viewer.app.publicId, viewer)}
    >
      <Field
        name="app"
        label="App name"
        hint="The name of your product."
        value={input.app}
        autofocus
        autocomplete="off"
      />
      <Field
        name="domain"
        label="App domain"
        hint="Emails link to results only on this domain and its subdomains. Ports are ignored."
        value={input.domain}
        autocomplete="off"
        optional
      />
    </Form>
  </Frame>
)
