/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { renameAccount } from '../../accounts/accounts.ts'
import { readAccountName } from '../../accounts/beginnings.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { redirectAnswer } from '../layout/answers.ts'
import { type PageParts, takeForm } from '../layout/door.tsx'
import { flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { showMembers } from './members.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** What was typed, and what is wrong with it. */
export type NameTyped = { name: string; error: string }

/** What the account is called, changed by owners on Members. */
export const accountNameRoutes = (parts: PageParts) =>
  new Elysia().post(
    '/apps/:app/members/account',
    ({ request, params: { app } }) =>
      takeForm(parts, request, { appId: app, role: 'owner' }, (form, viewer) => rename(parts, request, form, viewer)),
    { parse: 'none' },
  )

async function rename(parts: PageParts, request: Request, form: Form, viewer: Viewer): Promise<Response> {
  const { store, clock } = parts
  const refuse = (status: number, error: string) =>
    showMembers(parts, request, viewer, { status, typed: { name: form.text('name'), error } })
  const reading = readAccountName(form.text('name'))
  if ('errors' in reading) return refuse(400, reading.errors.map(({ message }) => message).join(' '))
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const outcome = await renameAccount(maker, viewer.account.id, reading.name)
  if ('refusal' in outcome) return refuse(REFUSALS[outcome.refusal].status, REFUSALS[outcome.refusal].message)
  return redirectAnswer(pathOf(viewer.app.publicId, 'members'), [flashCookie(parts.baseUrl, 'account_renamed')])
}

export const AccountNameSection = ({ viewer, typed }: { viewer: Viewer; typed?: NameTyped }) => (
  <section id="account">
    <h2>Name of the account</h2>
    <form method="post" action={`${pathOf(viewer.app.publicId, 'members')}/account`} novalidate>
      <Field
        name="name"
        label="Name"
        hint="In the list at the top, and in invitations. An app is renamed in its settings."
        error={typed?.error}
        value={typed?.name ?? viewer.account.name}
        autofocus={typed !== undefined}
        autocomplete="off"
      />
      <Button>Rename the account</Button>
    </form>
  </section>
)
