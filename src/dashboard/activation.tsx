/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { integrationCode } from '../core/integration/index.ts'
import { REFUSALS, type RefusalCode } from '../core/refusals.ts'
import { sendTestEvent } from '../core/test-event.ts'
import { makeToken } from '../core/tokens.ts'
import { ActivationPage } from './activation-page.tsx'
import { pageAnswer, redirectAnswer } from './answers.ts'
import { type PageParts, showPage, takeForm } from './door.tsx'
import { flashCookie } from './flash.ts'
import { pathOf } from './frame.tsx'
import { createKeyByForm } from './keys.tsx'
import type { Made } from './made-key.tsx'
import { problemAnswer } from './problems.tsx'
import type { Viewer } from './viewer.ts'

/** Where an app goes from its IDs to its first event (spec 2.1, 3.4). */
export const activationRoutes = (parts: PageParts) =>
  new Elysia()
    .get('/apps/:app/activation', ({ request, params: { app } }) =>
      showPage(parts, request, app, (viewer) => showActivation(parts, request, viewer)),
    )
    .post(
      '/apps/:app/activation/key',
      ({ request, params: { app } }) =>
        takeForm(parts, request, { appId: app, role: 'owner', isSensitive: true }, async (form, viewer) => {
          const made = await createKeyByForm(parts, viewer, form)
          if ('apiKey' in made) return showActivation(parts, request, viewer, { made })
          if ('errors' in made) return showActivation(parts, request, viewer, { refusal: 'invalid_field' })
          if (made.refusal === 'already_done') return problemAnswer(request, 'done_before')
          return showActivation(parts, request, viewer, { refusal: made.refusal })
        }),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/activation/test',
      ({ request, params: { app } }) =>
        takeForm(parts, request, { appId: app, role: 'editor' }, async (_, viewer) => {
          const outcome = await sendTestEvent(parts, viewer.app, viewer.member)
          if ('refusal' in outcome) return showActivation(parts, request, viewer, { refusal: outcome.refusal })
          return redirectAnswer(pathOf(viewer.app.publicId, 'activation'), [flashCookie('test_sent')])
        }),
      { parse: 'none' },
    )

type Shown = { made?: Made; refusal?: RefusalCode; cookies?: string[] }

/** The page, with a key that was just made or what could not be done. */
export async function showActivation(
  { store, clock, baseUrl }: PageParts,
  request: Request,
  viewer: Viewer,
  { made, refusal, cookies }: Shown = {},
): Promise<Response> {
  const all = { appId: viewer.app.id, contactId: null, name: null, before: null, limit: 1 }
  const [
    {
      rows: [newest],
    },
    keys,
  ] = await Promise.all([store.listEvents(all), store.listKeys(viewer.account.id)])
  const page = (
    <ActivationPage
      viewer={viewer}
      newest={newest ?? null}
      keys={keys.filter(({ revokedAt }) => revokedAt === null)}
      code={integrationCode(baseUrl, viewer.app)}
      form={makeToken()}
      made={made}
      refusal={refusal}
      now={clock.now()}
    />
  )
  return pageAnswer(request, refusal ? REFUSALS[refusal].status : 200, page, cookies)
}
