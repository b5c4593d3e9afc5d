import { afterEach, describe, expect, test } from 'bun:test'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOutput } from '../../src/ops/output.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const LINE = 'x'.repeat(995)
const lineOf = (index: number): string => `${String(index).padStart(4, '0')}${LINE}\n`
const linesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => lineOf(index))

const undo: (() => void)[] = []
afterEach(() => {
  for (const step of undo.splice(0)) step()
})

/** A pipe that nobody reads before `readUntil`, and a writer of half a megabyte. */
function openPipe({ waits }: { waits: boolean }) {
  const folder = mkdtempSync(join(tmpdir(), 'eventpost-output-'))
  const path = join(folder, 'pipe')
  Bun.spawnSync(['mkfifo', path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | (waits ? 0 : constants.O_NONBLOCK))
  undo.push(() => {
    for (const fd of [reader, writer]) closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  let text = ''
  const readSome = (): void => {
    const bytes = new Uint8Array(50_000)
    try {
      text += Buffer.from(bytes.subarray(0, readSync(reader, bytes))).toString()
    } catch {}
  }
  const readNow = (): string => {
    readSome()
    return text
  }
  const readUntil = async (last: RegExp): Promise<string[]> => {
    while (!last.test(text.slice(-1_000))) {
      readSome()
      await Bun.sleep(1)
    }
    return text.split('\n').slice(0, -1)
  }
  return { output: createOutput(writer, (lines) => `dropped ${lines}\n`, 500_000), readNow, readUntil }
}

// first: an output of a later test still writes when its number is another file's
test.skipIf(process.platform === 'win32')(
  'lines without a reader are dropped, and a later reader gets the next',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eventpost-output-'))
    const path = join(folder, 'pipe')
    Bun.spawnSync(['mkfifo', path])
    const open = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const first = open()
    const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    closeSync(first)
    const output = createOutput(writer, () => '')
    output.write('one\n')
    await output.end()
    const reader = open()
    undo.push(() => {
      for (const fd of [reader, writer]) closeSync(fd)
      rmSync(folder, { recursive: true })
    })
    output.write('two\n')
    await output.end()
    output.endNow('three\n')
    const bytes = Buffer.alloc(100)
    expect(bytes.toString('utf8', 0, readSync(reader, bytes))).toBe('two\nthree\n')
  },
)

describe.skipIf(process.platform === 'win32').each([
  ['that waits', { waits: true }],
  ['that does not wait', { waits: false }],
])('a pipe %s, whose reader stands still', (_, kind) => {
  test(
    'blocks no one, and has all lines in order when read again',
    async () => {
      const { output, readUntil } = openPipe(kind)
      const lines = linesOf(400)
      const startedAt = performance.now()
      for (const line of lines) {
        output.write(line)
        if (line.startsWith('0')) await Bun.sleep(0)
      }
      await output.end()
      expect(performance.now() - startedAt).toBeLessThan(3_000)
      expect(await readUntil(/^0399x+\n$/m)).toEqual(lines.map((line) => line.trimEnd()))
    },
    BEST_OF_FIVE,
  )

  test('reports the number of dropped lines', async () => {
    const { output, readUntil } = openPipe(kind)
    for (const line of linesOf(900)) output.write(line)
    const lines = await readUntil(/^dropped \d+\n$/m)
    expect(lines.length).toBeGreaterThan(500)
    expect(lines.slice(0, -1)).toEqual(linesOf(lines.length - 1).map((line) => line.trimEnd()))
    expect(lines.at(-1)).toBe(`dropped ${900 - (lines.length - 1)}`)
    output.write('and goes on\n')
    await output.end()
    expect((await readUntil(/goes on\n$/)).at(-1)).toBe('and goes on')
  })
})

test('the last lines are written at once', async () => {
  const { output, readNow } = openPipe({ waits: true })
  output.write('one\n')
  output.endNow('two\n')
  // before anything else happens, as at exit
  expect(readNow()).toBe('one\n\ntwo\n')
})

test('the last line is complete after a truncated one', () => {
  const { output, readNow } = openPipe({ waits: false })
  output.write(linesOf(400).join(''))
  // the pipe has room again, and the rest isn't written before this ends
  while (readNow() === '') Bun.sleepSync(1)
  output.endNow('last\n')
  expect(readNow().slice(-7)).toBe('x\nlast\n')
})

test(
  'ends at once with a stalled reader too',
  () => {
    const { output } = openPipe({ waits: true })
    for (const line of linesOf(400)) output.write(line)
    const startedAt = performance.now()
    output.endNow('last\n')
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  },
  BEST_OF_FIVE,
)
