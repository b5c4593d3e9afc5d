/**
 * Mutation testing: how many small errors in the rules their unit tests find. `bun run test:mutation [module] [file]` runs
 * one module or all, or one file, and fails below 80 % in total. It is too slow for CI.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stryker } from '@stryker-mutator/core'

/** Outside the repository: a test run there would take the copied tests for its own. */
const WORK = mkdtempSync(join(tmpdir(), 'eventpost-mutation-'))
/** Per cent of the mutants. */
const ASKED = 80
const TEST_MS = 5_000

type Module = {
  /** the files in src/MODULE that hold rules; the others read, write or answer */
  files: string[]
  /** their tests, which need neither a server nor a store */
  tests: string[]
}

const MODULES: Record<string, Module> = {
  people: {
    files: ['contact-input', 'unsubscribe'],
    tests: ['people/contact-input', 'people/unsubscribe'],
  },
  events: {
    files: ['event-input'],
    tests: ['events/event-input', 'events/event-texts'],
  },
  visits: {
    files: ['visit-reports', 'presence', 'signature-check', 'snippet-tag'],
    tests: ['visits/visit-reports', 'visits/presence-at', 'visits/signature-check', 'visits/snippet-tag'],
  },
  messages: {
    files: ['again', 'message-versions', 'describe-message', 'template-scope', 'template-faults'],
    tests: [
      'messages/again',
      'messages/message-input',
      'messages/message-versions',
      'messages/describe-message',
      'messages/template-faults',
      'messages/template-scope',
    ],
  },
  deliveries: {
    files: ['decide', 'rules', 'facts', 'ends'],
    tests: ['deliveries/decide', 'deliveries/check-rules', 'deliveries/facts', 'deliveries/ends'],
  },
}

type Score = { killed: number; all: number }

async function measure(module: string, { files, tests }: Module): Promise<Score> {
  const command = [process.execPath, 'test', '--no-isolate', '--bail', ...tests.map((name) => `./test/${name}.test.ts`)]
  const stryker = new Stryker({
    testRunner: 'command',
    commandRunner: { command: command.join(' ') },
    mutate: files.map((name) => `src/${module}/${name}.ts`),
    mutator: { plugins: null, excludedMutations: ['StringLiteral', 'ObjectLiteral'] },
    plugins: [],
    checkers: [],
    coverageAnalysis: 'off',
    concurrency: Number(process.env.MUTATION_WORKERS ?? 1),
    timeoutMS: TEST_MS,
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: true },
    tempDirName: WORK,
    ignorePatterns: ['dist', 'data', '.git'],
    disableTypeChecks: false,
    allowConsoleColors: false,
    logLevel: 'warn',
  })
  const results = await stryker.runMutationTest()
  const found = results.filter(({ status }) => status === 'Killed' || status === 'Timeout').length
  const ignored = results.filter(({ status }) => status === 'Ignored').length
  return { killed: found, all: results.length - ignored }
}

const percentOf = ({ killed, all }: Score): number => (all === 0 ? 100 : (100 * killed) / all)

const [, , asked, file] = process.argv
const names = asked === undefined ? Object.keys(MODULES) : [asked]
const total: Score = { killed: 0, all: 0 }
const lines: string[] = []
const print = (name: string, score: Score): void =>
  void lines.push(`${name.padEnd(12)} ${percentOf(score).toFixed(1).padStart(5)} %  ${score.killed} of ${score.all}`)
for (const name of names) {
  const module = MODULES[name]
  if (!module) throw new Error(`No such module. There are ${Object.keys(MODULES).join(', ')}.`)
  const score = await measure(name, file === undefined ? module : { ...module, files: [file] })
  total.killed += score.killed
  total.all += score.all
  print(name, score)
}
rmSync(WORK, { recursive: true, force: true })
print('total', total)
console.log(lines.join('\n'))
process.exit(percentOf(total) < ASKED ? 1 : 0)
