import type { Again, Condition, MailSettings, MessageContent, Rule } from '../../../src/store/message-types.ts'
import { DAY, HOUR, NOW } from '../../helper.ts'
import { here, leave, MINUTE, page, track } from '../../messaging.ts'
import fc from 'fast-check'

export type Settings = Pick<MailSettings, 'sendWindow' | 'timezone' | 'giveUpHours'>

/** `at`: ms after the message went live. */
export type Step = { at: number; who: string } & (
  | { does: 'event'; event: string; properties?: object; lateMs: number }
  | { does: 'report'; id: string; events: object[] }
)

/** `source`: a message that may trigger it. `setUp`: people's fixed state. `moments`: when states are compared (ms after going live). */
export type Story = {
  content: MessageContent
  source: MessageContent
  settings: Settings
  /** earlier messages: others are held back then */
  drafts: number
  setUp: Person[]
  steps: Step[]
  moments: number[]
}
export type Person = {
  email: string
  tags: string[]
  fields: Record<string, string>
  isUnsubscribed: boolean
  isPending: boolean
  hasEndedTopic: boolean
}

export const TOPIC = 'Tips'
export const PEOPLE = ['ada@example.com', 'bob@example.com', 'eve@example.com'] as const
const LONG_AGO_MS = 40 * DAY
/** When the message goes live, after the story's past. */
export const LIVE_AT = NOW + 41 * DAY

/** Shrinking leaves out up to this many steps. */
const STEPS_MOST = 80
const INDICES = Array.from({ length: STEPS_MOST }, (_, index) => index)

type Random = ReturnType<typeof createRandom>

const createRandom = (value: fc.GeneratorValue) => ({
  pick: <T>(options: readonly T[]): T => value(fc.constantFrom<T[]>, ...options),
  isOften: (share: number): boolean => value(fc.nat, 99) >= 100 - share * 100,
  below: (most: number): number => value(fc.nat, most - 1),
})

export const storyArbitrary = (): fc.Arbitrary<[fc.GeneratorValue, number[]]> =>
  fc.tuple(fc.gen(), fc.subarray(INDICES, { minLength: 1 }))

export function readStory([value, kept]: [fc.GeneratorValue, number[]]): Story {
  const random = createRandom(value)
  const story = random.isOften(0.5) ? makeStory(random) : makeCollectingStory(random)
  return { ...story, steps: story.steps.filter((_, index) => index >= STEPS_MOST || kept.includes(index)) }
}

function makeStory(random: Random): Story {
  const content = makeContent(random)
  const setUp = 'contact' in content.trigger ? [] : PEOPLE.map((email) => makePerson(random, email))
  const spanMs = asksWhere(content) ? 12 * HOUR : 8 * DAY
  const steps = PEOPLE.flatMap((who) => makeSteps(random, { who, spanMs, isKnown: setUp.length > 0 }))
  const inOrder = steps.toSorted((a, b) => a.at - b.at)
  const moments = [inOrder.length / 3, inOrder.length / 2]
    .map((index) => (inOrder[Math.floor(index)]?.at ?? 0) + random.pick([0, 5]) * MINUTE)
    .filter((at) => at >= 0)
  const source = makeSource(random)
  return {
    content,
    source,
    settings: makeSettings(random, content),
    drafts: random.below(5),
    setUp,
    steps: inOrder,
    moments,
  }
}

export const SOURCE = 'Source'

const makeSource = ({ pick }: Random): MessageContent => ({
  trigger: { event: 'ready' },
  wait: pick([undefined, { minutes: 5 }]),
  again: pick<Again>([{ once: 'person' }, { everyHours: 1 }, { once: 'property', property: 'n' }]),
  mail: { subject: 'Source', body: 'Hello' },
})

/** Events share an email, with several results of a person close together. */
function makeCollectingStory(random: Random): Story {
  const story = makeStory(random)
  const { pick, isOften } = random
  const collect = { minutes: pick([1, 5, 30, 30, 60]) }
  const again = pick<Again>([
    { once: 'property', property: ['resultId', 'url'], collect },
    { once: 'property', property: ['resultId', 'url'], collect },
    { once: 'property', property: 'n', collect },
    { once: 'person', collect },
  ])
  const trigger = { event: 'ready', where: isOften(0.2) ? [{ property: 'n', is: 'equal' as const, to: 1 }] : undefined }
  const listing = 'Ready{% for event in events %}, {{ event.headline }}{% endfor %}'
  const subject = pick(['Ready', 'Ready', listing, '{{ event.headline }}', `{{ event.headline }} ${listing}`])
  const steps = story.steps.flatMap((step) => (isOften(0.5) ? [step, makeResult(random, step)] : [step]))
  return {
    ...story,
    content: { ...story.content, trigger, again, mail: { ...story.content.mail, subject } },
    steps: steps.toSorted((a, b) => a.at - b.at),
  }
}

function makeResult(random: Random, { who, at }: Step): Step {
  const { pick, isOften } = random
  const url = isOften(0.1) ? undefined : spell(random, `/results/${pick([1, 2, 3])}`)
  const resultId = isOften(0.2) ? pick([1, 2, 3]) : undefined
  const properties = { url, resultId, n: pick([undefined, 1, 1, 2, 3]), headline: pick(['Ready', 'Ready', undefined]) }
  const lateMs = isOften(0.2) ? pick([MINUTE, 5 * MINUTE, -MINUTE]) : 0
  return { who, at: at + pick([0, 0, 1, MINUTE, 4 * MINUTE]), does: 'event', event: 'ready', properties, lateMs }
}

/** One page has many URLs. */
const spell = ({ pick }: Random, path: string): string =>
  pick([
    `https://first.example${path}`,
    `https://first.example${path}`,
    `https://first.example${path}?from=mail`,
    ` https://first.example${path}/`,
    `HTTPS://First.Example:443${path}#top`,
  ])

/** Reports are kept for 48 hours, so such messages must end before. */
const asksWhere = ({ onlyIf = [] }: MessageContent): boolean =>
  onlyIf.some(({ rule }) => rule === 'away' || rule === 'seen' || rule === 'notSeen')

function makeContent(random: Random): MessageContent {
  const { pick, isOften } = random
  const trigger = makeTrigger(random)
  const onlyIf = Array.from({ length: pick([0, 1, 1, 2, 2, 3]) }, () => makeRule(random)).flatMap((rule): Rule[] =>
    rule.rule === 'field' && isOften(0.5) ? [rule, { rule: 'field', or: true, field: 'plan', is: 'absent' }] : [rule],
  )
  return {
    trigger,
    wait: pick([
      undefined,
      { minutes: 0 },
      { minutes: 5 },
      { minutes: 10 },
      { minutes: 60 },
      { minutes: 300 },
      { until: '09:00' },
    ]),
    onlyIf,
    again: pick([
      undefined,
      { once: 'person' },
      { once: 'property', property: 'n' },
      { everyHours: 1 },
      'event' in trigger || 'page' in trigger ? { everyHours: 6 } : { once: 'trigger' },
    ]),
    holdback: pick([undefined, undefined, undefined, 45, 50]),
    topic: pick([undefined, undefined, undefined, TOPIC]),
    mail: {
      subject: isOften(0.15) ? '{{ event.headline }}' : 'Ready',
      body: 'Hello',
      category: isOften(0.15) ? 'transactional' : 'lifecycle',
    },
  }
}

function makeTrigger({ pick, isOften }: Random): MessageContent['trigger'] {
  const where = isOften(0.3)
    ? pick<Condition[]>([
        [{ property: 'n', is: 'equal', to: 1 }],
        [{ property: 'n', is: 'in', to: [1, 3] }],
        [
          { property: 'n', is: 'above', to: 1 },
          { or: true, property: 'headline', is: 'startsWith', to: 'R' },
        ],
      ])
    : undefined
  const onEvent = { event: 'ready', where }
  return pick([
    onEvent,
    onEvent,
    onEvent,
    onEvent,
    { page: '/results/1' },
    { page: '/results/*' },
    { contact: 'created' },
    { message: SOURCE },
    { message: SOURCE },
    { date: 'trialEndsAt', days: 1, when: 'before' },
    { inactiveDays: 1 },
  ])
}

function makeRule({ pick }: Random): Rule {
  const ifUnknown = pick([undefined, 'send', 'skip'] as const)
  const since = pick([undefined, 'trigger', 'ever', { days: 1 }] as const)
  const event = pick(['paid', 'paid', 'ready'])
  const same = pick([undefined, undefined, 'n'])
  const away: Rule = {
    rule: 'away',
    minutes: pick([undefined, 0, 1, 5, 30]),
    at: pick([undefined, 'sending', 'trigger']),
    quietMinutes: pick([undefined, undefined, 5, 60]),
    ifUnknown,
  }
  const kinds = {
    away: () => away,
    seen: () => ({ rule: 'seen', ifUnknown }),
    notSeen: () => ({ rule: 'notSeen', ifUnknown }),
    done: () => ({ rule: 'done', event, since, same }),
    notDone: () => ({ rule: 'notDone', event, since, same }),
    tag: () =>
      pick<Rule>([
        { rule: 'tag', has: 'beta' },
        { rule: 'tag', lacks: 'beta' },
      ]),
    field: () => ({ rule: 'field', field: 'plan', is: 'equal', to: 'pro' }),
    status: () => ({ rule: 'status', is: 'subscribed' }),
  } satisfies Record<Rule['rule'], () => Rule>
  return kinds[pick(OFTEN_TO_RARE)]()
}

/** How often each kind occurs. */
const WEIGHTS: Record<Rule['rule'], number> = {
  away: 12,
  seen: 3,
  notSeen: 9,
  done: 3,
  notDone: 6,
  tag: 2,
  field: 1,
  status: 1,
}
const OFTEN_TO_RARE = (Object.keys(WEIGHTS) as Rule['rule'][]).flatMap((rule) =>
  Array.from({ length: WEIGHTS[rule] }, () => rule),
)

/**
 * With a wait for a time of day, the message would not end in time. In a sequence, both emails would be due when the hours
 * begin, in an order that a simulation doesn't know.
 */
function makeSettings({ pick, isOften }: Random, content: MessageContent): Settings {
  const { trigger, wait } = content
  const isWindowless = 'message' in trigger || (wait !== undefined && 'until' in wait)
  const hours = { days: [0, 1, 2, 3, 4, 5, 6], from: '08:00', until: pick(['08:20', '13:00', '18:00', '02:00']) }
  const days = asksWhere(content) ? hours.days : pick([hours.days, [1, 3, 5], [6]])
  return {
    sendWindow: isOften(0.3) && !isWindowless ? { ...hours, days } : null,
    timezone: pick([null, 'Europe/Berlin', 'America/New_York']),
    giveUpHours: pick([null, 2, 2, 12]),
  }
}

function makePerson({ isOften, pick, below }: Random, email: string): Person {
  const trialEndsAt = new Date(LIVE_AT + DAY + (1 + below(600)) * MINUTE).toISOString()
  return {
    email,
    tags: isOften(0.5) ? ['beta'] : [],
    fields: {
      trialEndsAt: pick([trialEndsAt, trialEndsAt, 'soon']),
      ...(isOften(0.7) ? { plan: pick(['pro', 'free']) } : {}),
      ...(isOften(0.3) ? { timezone: pick(['Asia/Tokyo', 'America/New_York', 'Nowhere/None']) } : {}),
    },
    isUnsubscribed: isOften(0.04),
    isPending: isOften(0.04),
    hasEndedTopic: isOften(0.1),
  }
}

type Given = { who: string; spanMs: number; isKnown: boolean }

function makeSteps(random: Random, { who, spanMs, isKnown }: Given): Step[] {
  const { pick, isOften, below } = random
  const steps: Step[] = isKnown && isOften(0.3) ? makeScene(random, { who, from: -LONG_AGO_MS, lateMost: 0 }) : []
  for (let scene = pick([1, 2, 3]); scene > 0; scene -= 1) {
    const from = (10 + below(spanMs / MINUTE - 10)) * MINUTE
    steps.push(...makeScene(random, { who, from, lateMost: spanMs > DAY ? 80 * HOUR : from }))
  }
  return steps
}

type Scene = { who: string; from: number; lateMost: number }

/** Minutes between steps; what waits is due at the same moment or a millisecond off. */
const PAUSES = [0, 0, 0, 1, 1, 2, 5, 10, 29, 30, 31, 60] as const

function makeScene(random: Random, { who, from, lateMost }: Scene): Step[] {
  const { pick, isOften } = random
  const tabs = [createTab(random), createTab(random)] as const
  const steps: Step[] = []
  let at = from
  for (let left = pick([4, 6, 9]); left > 0; left -= 1) {
    at += pick(PAUSES) * MINUTE + pick([0, 0, 0, 0, 1, -1])
    if (isOften(0.4)) steps.push({ who, ...makeEvent(random, at, lateMost) })
    else steps.push({ who, ...pick(tabs)(at) })
  }
  return steps
}

function makeEvent(random: Random, at: number, lateMost: number) {
  const { pick, isOften } = random
  const event = pick(['ready', 'ready', 'paid'])
  const url = isOften(0.1) ? undefined : spell(random, `/results/${pick([1, 1, 2])}`)
  const properties = { url, n: pick([undefined, null, 1, 1, 2, '1']), headline: pick(['Ready', undefined]) }
  const late = pick([1, MINUTE, 5 * MINUTE, 31 * MINUTE, 3 * HOUR, 72 * HOUR, 72 * HOUR + 1, -8 * MINUTE, -8 * MINUTE])
  const lateMs = isOften(0.25) ? Math.min(late, lateMost) : 0
  return { at, does: 'event' as const, event, properties: event === 'ready' ? properties : { n: properties.n }, lateMs }
}

/** A report may be slow and be overtaken by the next. */
function createTab({ pick, isOften, below }: Random) {
  const [load, isNumbered, end] = [`tab${below(1e9)}`, isOften(0.7), pick(['', '.a'])]
  let count = 0
  let path = '/wait'
  return (madeAt: number) => {
    count += 1
    const age = isOften(0.2) ? pick([1, 5_000, MINUTE, 10 * MINUTE, 2 * HOUR]) : 0
    const before = path
    // a batch keeps its last report only
    const longer = age + pick([1, MINUTE, 10 * MINUTE])
    const isBack = isOften(0.3)
    if (!isBack) path = pick(['/wait', '/results/1', '/results/1/', '/results/2'])
    const events = isBack
      ? pick([
          [here(before, age)],
          [here(before, age)],
          [here(before, longer), leave(before, age)],
          [leave(before, longer), here(before, age)],
          [here(before, longer), track('paid', before, age)],
          [track('ready', before, longer), here(before, age)],
        ])
      : pick([
          [page(path, age)],
          [page(path, age)],
          [leave(before, age)],
          [track('paid', before, age)],
          [page(path, age), track('ready', path, age)],
          [page(path, longer), leave(path, age)],
          [leave(before, longer), page(path, age)],
          [leave(before, age), page(path, age)],
        ])
    const id = isNumbered ? `${load}.${count}` : `${load}-${count}${end}`
    return { at: madeAt + age, does: 'report' as const, id, events }
  }
}
