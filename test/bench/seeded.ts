import { join } from 'node:path'

/** Where `bun run seed` puts its data folder by default; git keeps nothing of it. */
export const SEEDED = join(import.meta.dir, '../../dist/seeded')

/** What is in a seeded folder, and how to get in. */
export type Seeded = { large: string; small: string; mailing: string; apiKey: string; email: string; password: string }

export const seededFile = (folder: string): string => join(folder, 'seeded.json')

/** It has few of the deliveries, and they wait. */
export const RARE_MESSAGE = 'Rare message'

/** Names of events that nearly everyone did and messages that nearly everyone got, with the `place` of those who did not. */
export const NEARLY = {
  'all but a few': 'place % 200000 = 7',
  'all but one in 1,000': 'place % 1000 = 7',
  'all but the oldest': 'place <= 20000',
} as const
export type Nearly = keyof typeof NEARLY
