/**
 * Property: dry run, live sending, explanations and simulation decide alike for random messages and histories.
 * SIMULATION_STORIES=1000 plays more, SIMULATION_SEED=7 others.
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { playStory } from './playing.ts'
import { readStory, type Story, storyArbitrary } from './random-stories.ts'

const STORIES = Number(process.env.SIMULATION_STORIES ?? 15)
const SEED = Number(process.env.SIMULATION_SEED ?? 7)
/** Shrinking replays a failing story many times. On PostgreSQL, a story has many short statements to wait for. */
const PLAYED_MS = (50_000 + STORIES * 1_000) * (isOnPostgres ? 5 : 1)

test(
  'dry run, sending, explanation and simulation agree on random histories',
  async () => {
    const outcomes = new Set<string>()
    let wrong: Story | null = null
    const isAlike = fc.asyncProperty(storyArbitrary(), async (value) => {
      const story = readStory(value)
      const played = await playStory(story)
      for (const outcome of played.outcomes) outcomes.add(outcome)
      const different = played.compared.find(({ live, predicted }) => !Bun.deepEquals(live, predicted))
      if (different === undefined) return
      wrong = story
      expect(different.predicted).toEqual(different.live)
    })
    const checked = await fc.check(isAlike, { numRuns: STORIES, seed: SEED, interruptAfterTimeLimit: PLAYED_MS })
    if (checked.failed) {
      console.error(JSON.stringify(wrong, null, 1))
      throw checked.errorInstance
    }
    expect([...outcomes]).toEqual(
      expect.arrayContaining(['send', 'joined', 'waiting', 'again', 'not_away', 'holdback']),
    )
    if (STORIES < 400) return
    const decided = [
      'seen',
      'not_seen',
      'not_away',
      'came_back',
      'left_too_recently',
      'done',
      'not_done',
      'tag',
      'field',
      'never_reported',
      'no_page',
    ]
    // random stories hardly ever give up: index.test.ts compares that
    const others = [
      'send',
      'joined',
      'waiting',
      'again',
      'unsubscribed',
      'pending',
      'topic',
      'missing_value',
      'holdback',
    ]
    // need several rare things in one story, such as an unsubscribed person and a transactional email
    const rare = ['status', 'active_again', 'date_changed']
    const common = [...outcomes].filter((outcome) => !rare.includes(outcome))
    expect(common.toSorted()).toEqual([...decided, ...others].toSorted())
  },
  PLAYED_MS + 10_000,
)
