/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { readLayout } from '../../accounts/sender-settings.ts'
import type { FieldError } from '../../core/refusals.ts'
import { writeDefaultLayout } from '../../mail/layout.ts'
import { makeSenderSample } from '../../mail/samples.ts'
import { describeTemplateFault } from '../../messages/template-faults.ts'
import { createMailFrames, mailAnswer, type MailFrames } from '../deliveries/mail-frames.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { LayoutPage } from './layout-page.tsx'
import { readSenderFacts, saveSettings, type Shown } from './sender.tsx'
import { describeFrom } from './sender-frame.tsx'

/** A layout of 50,000 characters, at up to nine bytes each. */
const FORM_BYTES = 512 * 1024

/** The layout of an app's emails. */
export function layoutRoutes(deps: PageDependencies) {
  const frames = createMailFrames()
  const save = (_: PageDependencies, request: Request, form: FormInput, { viewer }: Who) =>
    saveLayout({ deps, frames, request, viewer }, form)
  return new Elysia()
    .get('/apps/:app/sender/layout', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showLayout({ deps, frames, request, viewer })),
    )
    .get('/apps/:app/sender/layout/frames/:frame', ({ request, params: { app, frame } }) =>
      showPage(deps, request, app, (viewer) => mailAnswer(request, frames.find(viewer.app.id, frame))),
    )
    .post('/apps/:app/sender/layout', onForm(deps, { role: 'owner', mostBytes: FORM_BYTES }, save), { parse: 'none' })
}

type Asking = { deps: PageDependencies; frames: MailFrames; request: Request; viewer: Viewer }

async function showLayout(
  { deps, frames, request, viewer }: Asking,
  { status = 200, ...refused }: Shown<string> = {},
): Promise<Response> {
  const facts = await readSenderFacts(deps, viewer)
  const standard = writeDefaultLayout()
  const reading = refused.text === undefined ? null : readLayout(refused.text, standard)
  const settings = { ...facts.settings, ...(reading && 'settings' in reading ? reading.settings : {}) }
  const mail = await deps.mailer.preview(makeSenderSample(viewer.app, settings))
  const src = (html: string): string =>
    `${pathOf(viewer.app.publicId, 'sender/layout')}/frames/${frames.keep(viewer.app.id, html)}`
  const sample = 'html' in mail ? { ...mail, from: describeFrom(facts.mailRoute.from), src: src(mail.html) } : null
  // values of this app alone, such as a very long address
  const own = 'html' in mail || refused.errors ? [] : [faultOf(describeTemplateFault(mail))]
  const errors = [...(refused.errors ?? []), ...own]
  return pageAnswer(request, status, <LayoutPage {...{ facts, standard, sample }} refused={{ ...refused, errors }} />)
}

const faultOf = (message: string): FieldError => ({ field: 'layout', code: 'template', message })

const SLOW = 'This layout takes too long to render. Use fewer loops and filters.'

async function saveLayout(asking: Asking, form: FormInput): Promise<Response> {
  const { deps, viewer } = asking
  const [action, basedOn] = [form.text('do'), form.text('basedOn')]
  const text = action === 'reset' ? undefined : form.text('layout')
  const show = (shown: Shown<string>) => showLayout(asking, { text, basedOn, ...shown })
  const reading = readLayout(text ?? '', writeDefaultLayout())
  if ('errors' in reading) return show({ status: 400, errors: reading.errors })
  const { layout } = reading.settings
  const problems = layout === null ? [] : ((await deps.templates.inspectLayout(viewer.app.id, layout)) ?? [SLOW])
  if (problems.length > 0) return show({ status: 400, errors: problems.slice(0, 1).map(faultOf) })
  if (action === 'preview') return show({})
  return saveSettings(deps, viewer, {
    form: 'layout',
    settings: reading.settings,
    basedOn,
    show,
    done: () => doneAnswer(deps, viewer, 'sender/layout', layout === null ? 'layout_reset' : 'layout_saved'),
  })
}
