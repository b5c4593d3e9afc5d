/** A data folder belongs to one server. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isFolderServed, lockFolder } from '../../../src/store/engine/folder-lock.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openStore } from '../../../src/store/store.ts'
import { makeFolder } from '../samples.ts'

let folder = ''
let remove = (): void => {}

beforeEach(() => {
  ;({ folder, remove } = makeFolder())
})
afterEach(() => remove())

function runScript(script: string, ...args: string[]) {
  return Bun.spawn([process.execPath, '-e', script, ...args], { stdout: 'pipe', stderr: 'pipe', stdin: 'pipe' })
}

describe('lockFolder', () => {
  const source = join(import.meta.dir, '../../../src/store/engine/folder-lock.ts')
  const script = `
    const { lockFolder } = await import(process.argv[1])
    // held for as long as the process, or it would be collected
    try { globalThis.held = lockFolder(process.argv[2]); console.log('locked') } catch (error) { console.log(error.code) }
    for await (const _ of process.stdin) break`
  const attempt = async () => {
    const child = runScript(script, source, folder)
    const { value } = await child.stdout.getReader().read()
    return { child, said: new TextDecoder().decode(value).trim() }
  }

  test('allows one process at a time, and a killed one leaves no lock', async () => {
    const first = await attempt()
    expect(first.said).toBe('locked')
    const second = await attempt()
    expect(second.said).toBe('folder_in_use')
    second.child.kill()
    expect(() => lockFolder(folder)).toThrow('Stop it first, or choose another folder with --data')
    const command = await openStore(folder, { threads: false, rules: STORE_RULES })
    await command.close()
    first.child.kill('SIGKILL')
    await first.child.exited
    const lock = lockFolder(folder)
    const third = await attempt()
    expect(third.said).toBe('folder_in_use')
    third.child.kill()
    lock.release()
    const fourth = await attempt()
    expect(fourth.said).toBe('locked')
    fourth.child.kill()
  })

  test('names the whole path of a folder in use', () => {
    const lock = lockFolder(folder)
    expect(() => lockFolder(relative(process.cwd(), folder))).toThrow(`server is using ${folder}. Stop it`)
    lock.release()
  })

  test('is not kept from a server by commands that look whether one runs', async () => {
    lockFolder(folder).release()
    const script = `
      const { isFolderServed } = await import(process.argv[1])
      for (let count = 0; ; count += 1) {
        isFolderServed(process.argv[2])
        if (count === 0) console.log('looks')
      }
    `
    const lookers = [1, 2].map(() =>
      Bun.spawn(
        [process.execPath, '-e', script, join(import.meta.dir, '../../../src/store/engine/folder-lock.ts'), folder],
        { stdout: 'pipe', stderr: 'inherit' },
      ),
    )
    for (const { stdout } of lookers) await stdout.getReader().read()
    for (let count = 0; count < 20; count += 1) lockFolder(folder).release()
    for (const one of lookers) one.kill()
    await Promise.all(lookers.map(({ exited }) => exited))
  })

  test('commands that look at the same time take none of them for a server', () => {
    lockFolder(folder).release()
    const other = new Database(join(folder, 'serve.lock'), { readonly: true })
    other.run('BEGIN')
    other.query('SELECT count(*) FROM sqlite_schema').get()
    expect(isFolderServed(folder)).toBe(false)
    other.close()
    const lock = lockFolder(folder)
    expect(isFolderServed(folder)).toBe(true)
    lock.release()
  })

  test('a lock file that cannot be used is not called a running server', () => {
    writeFileSync(join(folder, 'serve.lock'), 'x'.repeat(4_096))
    expect(() => lockFolder(folder)).not.toThrow('Another Eventpost server is using')
  })
})
