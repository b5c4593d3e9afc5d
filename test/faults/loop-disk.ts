/** A real ext4 file system on a loop device, which can lose its power, fill up, and turn read-only. Needs root. */
import { dlopen, ptr } from 'bun:ffi'
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { makeFolder } from '../data-folder.ts'

const MEGABYTE = 1024 ** 2
/** `_IOR('X', 125, __u32)`: ext4 and XFS drop what is not on the disk, as a power cut does (linux/fs.h). */
const FS_IOC_SHUTDOWN = 0x8004587d
/** Not even the journal is written. */
const NO_LOG_FLUSH = 2

export type LoopDisk = ReturnType<typeof createLoopDisk>

function run(...words: string[]): void {
  const { success, stderr } = Bun.spawnSync(words)
  if (!success) throw new Error(`${words.join(' ')}: ${stderr.toString().trim()}`)
}

export function createLoopDisk({ megabytes }: { megabytes: number }) {
  const { folder, remove } = makeFolder()
  const [image, path] = [join(folder, 'image'), join(folder, 'disk')]
  writeFileSync(image, '')
  truncateSync(image, megabytes * MEGABYTE)
  mkdirSync(path)
  run('mkfs.ext4', '-q', '-F', '-m', '0', '-b', '4096', image)
  const mount = (): void => run('mount', '-o', 'loop,noatime,errors=remount-ro', image, path)
  let isMounted = false
  const disk = {
    path,
    /** Nothing that was not synchronized survives. The file system answers every later request with EIO. */
    cutPower(): void {
      const opened = openSync(path, 'r')
      const { symbols, close } = dlopen('libc.so.6', { ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' } })
      const failed = symbols.ioctl(opened, FS_IOC_SHUTDOWN, ptr(new Uint32Array([NO_LOG_FLUSH])))
      close()
      closeSync(opened)
      if (failed !== 0) throw new Error('the file system did not shut down')
    },
    /** As at the next start of the machine: the journal is replayed. No process may use it. */
    restart(): void {
      run('umount', path)
      isMounted = false
      mount()
      isMounted = true
    },
    /** The file system finds itself damaged and turns read-only under those who use it. */
    failItself(): void {
      const device = readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .map((line) => line.split(' '))
        .find(([, place]) => place === path)?.[0]
      writeFileSync(`/sys/fs/ext4/${basename(device ?? '')}/trigger_fs_error`, 'a test\n')
    },
    setMode: (mode: 'ro' | 'rw'): void => run('mount', '-o', `remount,${mode}`, path),
    remove(): void {
      if (isMounted) run('umount', path)
      remove()
    },
  }
  try {
    mount()
    isMounted = true
  } catch (error) {
    disk.remove()
    throw error
  }
  return disk
}

/** null where this machine mounts none: the reason. */
export function whyNoLoopDisk(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount a loop device'
  try {
    createLoopDisk({ megabytes: 8 }).remove()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
