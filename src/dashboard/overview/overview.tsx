/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { VNode } from 'preact'
import { render } from 'preact-render-to-string'
import { hasRole } from '../../accounts/members.ts'
import { localTime } from '../../core/local-time.ts'
import { DAY_MS } from '../../core/clock.ts'
import { lastDays, readAppResults } from '../../deliveries/results.ts'
import { isSimulated } from '../../deliveries/simulation/index.ts'
import { createRecentSimulations } from '../../deliveries/simulation/recent.ts'
import type { MessageRow } from '../../messages/messages.ts'
import type { MailSettings } from '../../store/message-types.ts'
import { firstFailedDay, readAttentionFacts } from '../../monitoring/attention.ts'
import { readRestore } from '../../store/restored.ts'
import { PAGE_NAME } from '../../store/visit-reports.ts'
import { listSteps, nextStep, readSetup } from '../activation/checklist.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { homePath, pathOf } from '../layout/frame.tsx'
import { openStream, showPage } from '../layout/require-member.tsx'
import { streamChanges } from '../layout/stream.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { writeDay } from '../layout/days.ts'
import { Zone } from '../ui/time.tsx'
import { listAttention } from './attention.ts'
import { listFigures } from './figures.ts'
import { OverviewPage, SimulatedAnswer } from './overview-page.tsx'
import { SimulatedPeoplePage, SimulatedPeople } from './simulated-people-page.tsx'

const DAYS = 30
const SIMULATED_DAYS = 7

export function overviewRoutes(deps: PageDependencies) {
  const { simulations, clock, feed } = deps
  const recent = createRecentSimulations({ simulations, clock, onEnd: feed.notify })
  const shown = { ...deps, recent }
  return new Elysia()
    .get('/apps/:app', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => redirectAnswer(homePath(app, viewer))),
    )
    .get('/apps/:app/overview', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showOverview(shown, request, viewer)),
    )
    .get('/apps/:app/overview/live', ({ request, params: { app } }) =>
      openStream(deps, request, app, (viewer) => streamAnswer(shown, request, viewer)),
    )
    .get('/apps/:app/overview/people', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showSimulated(shown, request, viewer)),
    )
}

type Shown = PageDependencies & { recent: ReturnType<typeof createRecentSimulations> }

async function showOverview(deps: Shown, request: Request, viewer: Viewer): Promise<Response> {
  if (!viewer.isActivated) return redirectAnswer(homePath(viewer.app.publicId, viewer))
  const { store, clock } = deps
  const { app } = viewer
  const now = clock.now()
  const range = lastDays(DAYS, now)
  const yesterday = Math.floor(localTime(now, app.timezone) / DAY_MS) - 1
  const isUtc = app.timezone !== 'UTC'
  const [setup, attention, results, people, all, views, restore] = await Promise.all([
    readSetup(deps, viewer),
    readAttentionFacts(deps, app, (sender, last) => deps.mailer.dnsChecks.refreshSeen(app, sender, last)),
    readAppResults(store, app.id, range),
    store.countPeopleByDay(app.id, range.from),
    store.countByDay(app.id, null, range.from),
    store.countByDay(app.id, PAGE_NAME, range.from),
    readRestore(store),
  ])
  const steps = listSteps(setup)
  const page = (
    <OverviewPage
      viewer={viewer}
      activation={setup.activation}
      steps={setup.hasSentEmail || nextStep(steps) === null ? null : steps}
      attention={listAttention({
        ...attention,
        appId: app.publicId,
        isOwner: hasRole(viewer.member.role, 'owner'),
        refusedSince: writeDay(yesterday),
        failedSince: { from: writeDay(firstFailedDay(now)), isUtc },
      })}
      messages={setup.messages}
      results={results}
      from={writeDay(range.from)}
      simulated={findSimulated(deps, viewer, {
        messages: setup.messages,
        settings: await store.mailSettings(app.id),
        lastViewAt: setup.activation.lastViewAt,
      })}
      figures={listFigures(app.publicId, { range, isUtc, people, all, views, results })}
      restore={restore}
      now={now}
    />
  )
  return pageAnswer(request, 200, page)
}

type Simulatable = { messages: MessageRow[]; settings: MailSettings; lastViewAt: number | null }

/** Of the first message that can be simulated, while none is live; else null. */
function findSimulated(
  { recent }: Shown,
  { app }: Viewer,
  { messages, settings: { sendWindow, timezone, giveUpHours }, lastViewAt }: Simulatable,
) {
  if (messages.some(({ status }) => status === 'live')) return null
  const message = messages.find(({ content }) => isSimulated(content.trigger))
  if (!message) return null
  const { id: messageId, content } = message
  const settings = { sendWindow, timezone, giveUpHours }
  const asked = { appId: app.id, messageId, content, settings, hosts: app.hosts, days: SIMULATED_DAYS }
  return { message, found: recent.find(asked), hasViews: lastViewAt !== null }
}

async function readSimulated(deps: Shown, viewer: Viewer) {
  const [messages, settings, { lastViewAt }] = await Promise.all([
    deps.store.listMessages(viewer.app.id),
    deps.store.mailSettings(viewer.app.id),
    deps.store.latestActivity(viewer.app.id),
  ])
  return findSimulated(deps, viewer, { messages, settings, lastViewAt })
}

async function showSimulated(deps: Shown, request: Request, viewer: Viewer): Promise<Response> {
  const simulated = await readSimulated(deps, viewer)
  if (simulated === null) return redirectAnswer(pathOf(viewer.app.publicId, 'overview'))
  const skipped = Number(/^\d{1,3}$/.exec(new URL(request.url).searchParams.get('skip') ?? '')?.[0] ?? 0)
  const page = <SimulatedPeoplePage viewer={viewer} simulated={simulated} skipped={skipped} now={deps.clock.now()} />
  return pageAnswer(request, 200, page)
}

/** Streams the answer and the list of people when a simulation ends. */
function streamAnswer(deps: Shown, request: Request, viewer: Viewer): Response {
  let sent = ''
  return streamChanges(deps, request, viewer, async (send) => {
    const simulated = await readSimulated(deps, viewer)
    if (simulated === null || simulated.found.state === 'running') return
    const props = { viewer, simulated, skipped: 0, now: deps.clock.now() }
    const show = (part: VNode): string => render(<Zone.Provider value={viewer.app.timezone}>{part}</Zone.Provider>)
    const data = { answer: show(<SimulatedAnswer {...props} />), people: show(<SimulatedPeople {...props} />) }
    const text = JSON.stringify(data)
    if (text !== sent) send({ name: 'parts', data })
    sent = text
  })
}
