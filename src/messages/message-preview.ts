import type { Clock } from '../core/clock.ts'
import type { Mailer, RenderedMail, Sample } from './mailer.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from './template-worker.ts'
import type { MessageContent, MessageRow } from '../store/message-types.ts'
import type { AppRow } from '../store/types.ts'
import { parseProperties } from '../store/conditions.ts'
import { collectMsOf } from './again.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import { findFrom } from '../accounts/senders.ts'
import { listSamples, makeSampleFor, pickFilled, type SampleMoment, SEVERAL } from './message-samples.ts'
import { publicId } from '../core/ids.ts'
import type { TemplateFault } from './template-faults.ts'

/** What these functions need. */
type Parts = { store: Store; clock: Clock; templates: TemplateWorker; mailer: Mailer }

/**
 * Somebody to look at a message with: `id` is the event's, or the person's where no event started it. `isMadeUp`: several
 * made-up events in one email.
 */
export type SampleChoice = SampleMoment & { id: string; isMadeUp?: true }

const SEVERAL_ID = 'several'

/** A mail as one person would get it. `sample` null: none of the app's people would, so it is for somebody made up. */
export type Preview = {
  choices: SampleChoice[]
  sample: SampleChoice | null
  /** names of the properties that the events really had */
  properties: string[]
  from: Mailbox | null
  mail: RenderedMail | TemplateFault
}

type Asked = { content: MessageContent; sampleId: string }

/** Renders a message for the sample that was chosen, else for the latest. Sends nothing. */
export async function previewMessage(parts: Parts, app: AppRow, asked: Asked): Promise<Preview> {
  const { choices, sample, work } = await prepareSample(parts, app, asked)
  const real = choices.filter(({ isMadeUp }) => !isMadeUp)
  const properties = real.flatMap(({ event }) => Object.keys(parseProperties(event?.properties ?? null)))
  const from = findFrom(asked.content.mail, work.settings, parts.mailer.findWay(work.settings).from)
  return { choices, sample, properties: [...new Set(properties)].sort(), from, mail: await parts.mailer.preview(work) }
}

/** Sends it to a member, past every rule, for the same sample as the preview shows. `whose`: null where made up. */
export async function sendTestMail({ parts, app, to }: { parts: Parts; app: AppRow; to: Mailbox }, asked: Asked) {
  const { sample, work } = await prepareSample(parts, app, asked)
  const whose = sample === null || sample.isMadeUp ? null : sample.contact.email
  return { whose, result: await parts.mailer.sendTest(work, to) }
}

async function prepareSample(
  { store, clock, templates }: { store: Store; clock: Clock; templates: TemplateWorker },
  app: AppRow,
  { content, sampleId }: Asked,
): Promise<{ choices: SampleChoice[]; sample: SampleChoice | null; work: Sample }> {
  const [real, at] = [(await listSamples(store, app, content)).map(withId), clock.now()]
  const several = collectMsOf(content.again) === null ? [] : [await makeSeveral(templates, app, { content, at })]
  const choices = [...real, ...several]
  const settings = await store.mailSettings(app.id)
  const chosen = choices.find(({ id }) => id === sampleId)
  const sample = chosen ?? (await pickFilled(templates, { app, content, settings }, real)) ?? null
  const { contact, event, joined } = sample ?? (await makeSampleFor(templates, app, { content, at }))
  return { choices, sample, work: { message: wrap(app, content), contact, event, joined, app, settings } }
}

const makeSeveral = async (...given: Parameters<typeof makeSampleFor>): Promise<SampleChoice> => {
  const [templates, app, asked] = given
  const made = await makeSampleFor(templates, app, { ...asked, events: SEVERAL })
  return { ...made, id: SEVERAL_ID, isMadeUp: true }
}

const withId = (moment: SampleMoment): SampleChoice => ({
  ...moment,
  id: moment.event ? publicId('evt', moment.event.id) : publicId('con', moment.contact.id),
})

/** What was not saved yet has no number. */
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
