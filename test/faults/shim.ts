/** Compiles power-cut.c, which stands between a server and its disk. */
import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Linux with a C compiler; elsewhere these faults cannot be made, and their tests are skipped. */
export const canMakeFaults = process.platform === 'linux' && Bun.which('cc') !== null

/** Room for the record; a sparse file, of which only what is used takes space. */
const RECORD_BYTES = 1024 ** 3

export type Fault = 'FAULT_NO_SYNC' | 'FAULT_NO_SHM' | 'FAULT_FULL' | 'FAULT_WRITE_FAILS' | 'FAULT_SYNC_FAILS'
export type Shim = ReturnType<typeof createShim>

/** `folder` is one of the test's own, beside the data folder. */
export function createShim(folder: string, data: string) {
  const library = join(folder, 'power-cut.so')
  const record = join(folder, 'record')
  const source = join(import.meta.dir, 'power-cut.c')
  const built = Bun.spawnSync(['cc', '-O1', '-shared', '-fPIC', '-o', library, source])
  if (!built.success) throw new Error(built.stderr.toString())
  const flagOf = (fault: Fault): string => join(folder, fault)
  return {
    record,
    /** The environment of a server with these faults: those with a flag wait until it is set. */
    env(...faults: Fault[]): Record<string, string> {
      const chosen = Object.fromEntries(faults.map((fault) => [fault, flagOf(fault)]))
      return { LD_PRELOAD: library, FAULT_FOLDER: data, ...chosen }
    },
    /** A slow disk. */
    slowEnv: (syncMs: number): Record<string, string> => ({
      LD_PRELOAD: library,
      FAULT_FOLDER: data,
      FAULT_SYNC_MS: String(syncMs),
    }),
    /** As `env`, and everything is written down. */
    recordingEnv(...faults: Fault[]): Record<string, string> {
      rmSync(record, { force: true })
      writeFileSync(record, '')
      truncateSync(record, RECORD_BYTES)
      return { ...this.env(...faults), FAULT_LOG: record }
    },
    set: (fault: Fault) => writeFileSync(flagOf(fault), ''),
    clear: (fault: Fault) => rmSync(flagOf(fault), { force: existsSync(flagOf(fault)) }),
  }
}
