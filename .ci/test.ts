/**
 * Runs the tests in several processes. `bun .ci/test.ts`: all but the short forms of the labs. `bun .ci/test.ts labs`:
 * those. Further arguments go to `bun test`.
 */

/** They run servers, databases and browsers at length. Their long forms are commands in src/docs/commands.md and benchmarks.md. */
const LABS = [
  'test/bench',
  'test/browser/long-text.test.ts',
  'test/browser/walk-views.test.ts',
  'test/cluster',
  'test/docs/samples.test.ts',
  'test/faults',
  'test/fuzz',
  'test/store/move',
  'test/store/postgres',
]

/** More than processors, because many tests wait. Each compiles the program for itself: 7 take a tenth more CPU time than 4. */
const PROCESSES = 5

const ENVIRONMENT = {
  EVENTPOST_TEST_PROGRAM: 'dist/eventpost',
  // memory and compiled code that a long process would win back, and a test doesn't
  MIMALLOC_PURGE_DELAY: '-1',
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '1000000',
  BUN_JSC_thresholdForFTLOptimizeSoon: '20000',
}

const [first, ...rest] = Bun.argv.slice(2)
const isLabs = first === 'labs'
const more = isLabs ? rest : Bun.argv.slice(2)
const chosen = isLabs
  ? LABS.map((path) => `./${path}`)
  : LABS.map((path) => `--path-ignore-patterns=${path.endsWith('.ts') ? path : `${path}/**`}`)
const flags = [`--parallel=${PROCESSES}`, '--no-isolate', '--timeout=120000', '--timings=.ci/test-times.json']
const child = Bun.spawn([process.execPath, 'test', ...flags, ...chosen, ...more], {
  cwd: `${import.meta.dir}/..`,
  env: { ...process.env, ...ENVIRONMENT },
  stdio: ['inherit', 'inherit', 'inherit'],
})
process.exit(await child.exited)
