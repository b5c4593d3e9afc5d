/**
 * A simulation decides as sending does: many random messages and histories are played live, and
 * simulated on what is stored of them. SIMULATION_STORIES=1000 SIMULATION_SEED=5000 plays others than those of every run.
 */
import { expect, test } from 'bun:test'
import { type Compared, playStory } from './playing.ts'
import { makeCollectingStory, makeStory, type Story } from './random-stories.ts'

const STORIES = Number(process.env.SIMULATION_STORIES ?? 40)
/** From here on they also tell of what is rare, such as an event that stops another of the same millisecond. */
const SEED = Number(process.env.SIMULATION_SEED ?? 251)
/** A story takes a tenth of a second; one that is told differently is played again without each of its steps. */
const TEST_MS = 60_000

const seeds = Array.from({ length: STORIES }, (_, index) => SEED + index)
const outcomes = new Set<string>()

const isDifferent = ({ live, simulated }: Compared): boolean => !Bun.deepEquals(live, simulated)

/** The first moment at which live and simulated are not the same. */
const findDifference = async (story: Story): Promise<Compared | null> =>
  (await playStory(story)).find(isDifferent) ?? null

/** Without all steps that the difference does not need. */
async function reduce(story: Story): Promise<Story> {
  for (let index = 0; index < story.steps.length; index += 1) {
    const less = { ...story, steps: story.steps.toSpliced(index, 1) }
    if (await findDifference(less)) return reduce(less)
  }
  return story
}

const KINDS = [
  { kind: 'single', make: makeStory },
  { kind: 'collecting', make: makeCollectingStory },
]

test.each(KINDS.flatMap((kind) => seeds.map((seed) => ({ ...kind, seed }))))(
  'the $kind story of seed $seed is simulated as it went',
  async ({ kind, make, seed }) => {
    const story = make(seed)
    const compared = await playStory(story)
    for (const outcome of compared.flatMap((one) => one.outcomes)) outcomes.add(outcome)
    if (!compared.some(isDifferent)) return
    const least = await reduce(story)
    console.error(`SIMULATION_SEED=${seed} SIMULATION_STORIES=1 ${kind}`, JSON.stringify(least, null, 1))
    const { live, simulated } = (await findDifference(least)) ?? {}
    expect(simulated).toEqual(live)
  },
  TEST_MS,
)

test.skipIf(STORIES < 40)('the stories end in every way there is', () => {
  const judged = ['seen', 'not_seen', 'not_away', 'done', 'not_done', 'tag', 'field', 'never_reported', 'no_page']
  const others = ['send', 'joined', 'waiting', 'again', 'unsubscribed', 'gave_up', 'missing_value']
  expect([...outcomes].toSorted()).toEqual([...judged, ...others].toSorted())
})
