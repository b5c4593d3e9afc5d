/** When old connections are closed, with answers that are made up. */
import { describe, expect, test } from 'bun:test'
import { NoAnswer } from '../../../src/store/postgres/faults.ts'
import { startHeartbeat } from '../../../src/store/postgres/heartbeat.ts'

type Answer = 'answered' | 'silent' | 'refused'

const give: Record<Answer, () => Promise<unknown>> = {
  answered: async () => {},
  silent: () => Promise.reject(new NoAnswer('silent')),
  refused: () => Promise.reject(new Error('refused')),
}

/** `answers`: of the beats, in order; all later ones are answered. @returns how often it was asked, and the decision */
async function decide(
  answers: Answer[],
  { hasHeard = () => false, breaks = 0 }: { hasHeard?: (beats: number) => boolean; breaks?: number } = {},
): Promise<{ isGone: boolean; beats: number }> {
  let [beats, broken] = [0, 0]
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const listen = () => {
    if (broken < breaks) throw new Error(`broken ${(broken += 1)}`)
    return { hasAsked: true, hasHeard: () => hasHeard(beats), end: resolve }
  }
  const stop = startHeartbeat({ beat: () => give[answers[(beats += 1) - 1] ?? 'answered'](), listenTo: [listen] })
  const isGone = await promise
  stop()
  return { isGone, beats }
}

describe.concurrent('connections that say nothing while a new one answers', () => {
  test('are gone', async () => {
    expect(await decide(['answered', 'silent', 'answered'])).toEqual({ isGone: true, beats: 7 })
  })

  test('are gone, though beats in between are slow or refused', async () => {
    const answers: Answer[] = ['answered', 'silent', 'answered', 'answered', 'silent', 'refused', 'silent']
    expect(await decide(answers)).toEqual({ isGone: true, beats: 10 })
  })

  test('are gone, though the beat before was refused', async () => {
    expect(await decide(['answered', 'refused', 'silent', 'answered'])).toEqual({ isGone: true, beats: 8 })
  })

  test('are there if one answers at last, also after slow beats', async () => {
    const answers: Answer[] = ['answered', 'silent', 'answered', 'answered', 'silent', 'silent']
    expect(await decide(answers, { hasHeard: (beats) => beats >= 9 })).toEqual({ isGone: false, beats: 9 })
  })

  test('are left alone if the new one answers too rarely', async () => {
    const silent = Array.from({ length: 1_000 }, (): Answer => 'silent')
    expect(await decide(['answered', 'silent', 'answered', 'answered', ...silent])).toMatchObject({ isGone: false })
  }, 120_000)
})

test('a check that fails is not the last', async () => {
  const answers: Answer[] = ['answered', 'silent', 'answered', 'silent', 'answered']
  expect(await decide(answers, { breaks: 1 })).toMatchObject({ isGone: true })
})
