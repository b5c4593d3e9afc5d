import type { Clock } from '../core/clock.ts'
import type { Mailer, RenderedMail, Sample } from '../messages/mailer.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { MessageContent, MessageRow } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import { chooseVariant } from '../messages/mail-texts.ts'
import { parseProperties } from '../messages/conditions.ts'
import type { FieldError } from '../core/refusals.ts'
import { findTemplateFaults } from '../messages/message-checks.ts'
import { withFirstTrigger } from '../messages/sequences.ts'
import { collectMsOf } from '../messages/again.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import { findFrom } from '../accounts/senders.ts'
import { listUsed, makeSampleFor, pickFilled, SEVERAL } from '../messages/message-samples.ts'
import { listSamples, type PersonSample } from './person-samples.ts'
import { publicId } from '../core/ids.ts'
import type { TemplateFault } from '../messages/template-faults.ts'

type Dependencies = { store: Store; clock: Clock; templates: TemplateWorker; mailer: Mailer }

/** `id`: the event's or the person's. `isMadeUp`: several sample events. */
export type SampleChoice = PersonSample & { id: string; isMadeUp?: true }

const SEVERAL_ID = 'several'

/** `sample` null: no person matches, so it uses sample data. */
export type Preview = {
  choices: SampleChoice[]
  sample: SampleChoice | null
  /** the trigger can have a person's data; what your server sends has none before */
  isTriggered: boolean
  /** of recent events; before there are any, those that the texts use */
  properties: string[]
  /** of people, used in the texts */
  fields: string[]
  /** the language of the text; null: the message's own */
  variant: string | null
  from: Mailbox | null
  mail: RenderedMail | TemplateFault
  /** what is wrong with the texts, whoever the email is for */
  problems: FieldError[]
}

type Asked = { content: MessageContent; sampleId: string; language?: string }

/** For the chosen sample, else the latest. Sends nothing. */
export async function previewMessage(deps: Dependencies, app: AppRow, asked: Asked): Promise<Preview> {
  const { choices, sample, work } = await prepareSample(deps, app, asked)
  const real = choices.filter(({ isMadeUp }) => !isMadeUp)
  const used = await listUsed(deps.templates, app, asked.content)
  const ofTexts = used.flatMap(({ name, isField }) => (isField ? [] : name))
  const properties =
    real.length > 0 ? real.flatMap(({ event }) => Object.keys(parseProperties(event?.properties ?? null))) : ofTexts
  const fields = used.flatMap(({ name, isField }) => (isField ? name : []))
  const from = findFrom({
    mail: asked.content.mail,
    settings: work.settings,
    fallback: deps.mailer.findMailRoute(work).from,
    app,
  })
  const mail = await deps.mailer.preview(work)
  const isFaulty = 'missing' in mail || 'broken' in mail
  const problems = isFaulty ? await findTemplateFaults({ ...deps, app }, asked.content.mail) : []
  const isTriggered = !('api' in asked.content.trigger)
  const { variant = null } = work
  const names = { properties: [...new Set(properties)].sort(), fields: [...new Set(fields)].sort() }
  return { choices, sample, isTriggered, ...names, variant, from, mail, problems }
}

/** To a member, without any rule. `whose`: null for sample data. */
export async function sendTestMail({ deps, app, to }: { deps: Dependencies; app: AppRow; to: Mailbox }, asked: Asked) {
  const { sample, work } = await prepareSample(deps, app, asked)
  const whose = sample === null || sample.isMadeUp ? null : sample.contact.email
  return { whose, result: await deps.mailer.sendTest(work, to) }
}

async function prepareSample(
  { store, clock, templates }: { store: Store; clock: Clock; templates: TemplateWorker },
  app: AppRow,
  asked: Asked,
): Promise<{ choices: SampleChoice[]; sample: SampleChoice | null; work: Sample }> {
  const { sampleId } = asked
  const content = await withFirstTrigger(store, app, asked.content)
  const [real, at] = [(await listSamples(store, app, content)).map(withId), clock.now()]
  const several = collectMsOf(content.again) === null ? [] : [await makeSeveral(templates, app, { content, at })]
  const choices = [...real, ...several]
  const settings = await store.mailSettings(app.id)
  const chosen = choices.find(({ id }) => id === sampleId)
  const sample = chosen ?? (await pickFilled(templates, { app, content, settings }, real)) ?? null
  const { contact, event, joined } = sample ?? (await makeSampleFor(templates, app, { content, at }))
  const variant = chooseVariant(content.mail, asked.language, contact)
  return { choices, sample, work: { message: wrap(app, content), contact, event, joined, app, settings, variant } }
}

const makeSeveral = async (...given: Parameters<typeof makeSampleFor>): Promise<SampleChoice> => {
  const [templates, app, asked] = given
  const made = await makeSampleFor(templates, app, { ...asked, events: SEVERAL })
  return { ...made, id: SEVERAL_ID, unsent: null, isMadeUp: true }
}

const withId = (sample: PersonSample): SampleChoice => ({
  ...sample,
  id: sample.event ? publicId('evt', sample.event.id) : publicId('con', sample.contact.id),
})

const wrap = ({ id: appId, accountId }: AppRow, content: MessageContent): MessageRow => ({
  id: 0,
  accountId,
  appId,
  name: '',
  status: 'draft',
  version: 0,
  createdAt: 0,
  updatedAt: 0,
  content,
})
