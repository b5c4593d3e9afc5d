/** `bun run test:long` runs the tests that are shorter in `bun run test`. */
export const isLong = process.env.LONG === 'all'
