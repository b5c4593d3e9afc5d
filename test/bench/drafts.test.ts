/** The short form of `bun run lab:drafts`, beside other tests: no draft may hold an event up for a second. */
import { expect, test } from 'bun:test'
import { compareDrafts } from './drafts-load.ts'

const NAMES = ['three loops over a thousand, empty', 'quotes in quotes', 'a loop over many conditions']
const MOST_MS = 1_000
const TEST_MS = 120_000

test(
  'no event waits while members save and preview costly drafts',
  async () => {
    const compared = await compareDrafts({ names: NAMES, roundMs: 1_500 })
    const slow = compared.filter(({ idle, beside }) => beside.most > MOST_MS + idle.most)
    expect(slow).toEqual([])
    expect(compared.map(({ done }) => done > 0)).toEqual(NAMES.map(() => true))
  },
  TEST_MS,
)
