/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { Clock } from '../../core/clock.ts'
import { pageAnswer } from '../layout/answers.ts'
import { Frame } from '../layout/frame.tsx'
import { mailAnswer } from '../deliveries/mail-frames.ts'
import type { Viewer } from '../layout/viewer.ts'
import { ContentParts } from './content.tsx'
import { ControlParts } from './controls.tsx'
import { LONG, SAMPLE_MAIL } from './samples.ts'
import { TableParts } from './tables.tsx'

const app = (id: number, name: string) => ({
  id,
  accountId: 'acc_1',
  publicId: `app_${id}`,
  siteId: `site_${id}`,
  name,
  homeUrl: null,
  createdAt: 0,
  hosts: [],
  timezone: 'UTC',
  locale: 'en-US',
})

const VIEWER: Viewer = {
  member: { id: 'mem_1', email: 'ada.lovelace@analytical-engines.example.com', role: 'owner' },
  account: { id: 'acc_1', name: 'Analytical Engines', requiresTwoStep: false },
  accounts: [
    {
      id: 'acc_1',
      name: 'Analytical Engines',
      apps: [app(1, 'Engine'), app(2, 'Difference'), app(3, LONG)],
    },
    { id: 'acc_2', name: LONG, apps: [app(4, 'Punched cards')] },
  ],
  app: app(1, 'Engine'),
  flash: 'The key was revoked. Requests with it are refused from now on.',
}

/** Every part with its states, for who works on the pages; nothing here does anything. */
export const showcaseRoutes = ({ clock }: { clock: Clock }) =>
  new Elysia()
    .get('/_parts/mail', () => mailAnswer(SAMPLE_MAIL))
    .get('/_parts', ({ request }) =>
      pageAnswer(
        request,
        200,
        <Frame viewer={VIEWER} page="activation" title="Parts" state="Each part once, with its states.">
          <ControlParts />
          <TableParts now={clock.now()} />
          <ContentParts now={clock.now()} />
        </Frame>,
      ),
    )
