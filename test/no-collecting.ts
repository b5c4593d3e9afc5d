/**
 * Elysia collects garbage after the first request to an app. A server has few apps, but tests open hundreds of servers
 * (measured: a tenth of the processor time of tests of the API and of sending).
 */
Object.assign(Bun, { gc: () => {} })
