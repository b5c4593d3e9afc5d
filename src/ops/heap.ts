import { accessSync, constants } from 'node:fs'

/**
 * How the JavaScript engine keeps its heap. It sizes it by the memory it believes to have: on a machine with much, it
 * lets garbage grow to 150 MB before it collects. With 400 MB the service stays under 120 MB, and with less the engine
 * takes itself for short of memory: every second collection is then a full one, which costs a third of all requests.
 * It may grow to 1.8 times what was alive, in place of 2: some 7 MB less, at no price that shows; 1.7 costs the thread
 * that answers a twentieth, 2.5 takes 20 MB more and spares the thread that answers 2 % of its time.
 * Collecting beside the program, or by several threads, only takes time from two busy cores, and the last of the
 * compilers takes 5 MB and makes nothing here faster (all measured).
 */
const ENGINE_SETTINGS = {
  BUN_JSC_forceRAMSize: String(400 * 1000 * 1000),
  BUN_JSC_smallHeapGrowthFactor: '1.8',
  BUN_JSC_useConcurrentGC: '0',
  BUN_JSC_numberOfGCMarkers: '1',
  BUN_JSC_useFTLJIT: '0',
}

/**
 * The engine reads its settings when a process begins, so the process begins again, as the same one: its id, its files
 * and its parent stay. What someone has set themselves is left alone; Windows has no such call. A user who may not start
 * the program by its path keeps the engine's own, larger heap.
 */
function keepHeapSmall(): void {
  const missing = Object.entries(ENGINE_SETTINGS).filter(([name]) => process.env[name] === undefined)
  if (missing.length === 0 || process.platform === 'win32' || process.execve === undefined) return
  if (!canStart(process.execPath)) return
  const script = Bun.isStandaloneExecutable ? [] : [...process.execArgv, Bun.main]
  const words = [process.execPath, ...script, ...process.argv.slice(2)]
  try {
    process.execve(process.execPath, words, { ...process.env, ...Object.fromEntries(missing) })
  } catch {
    // an environment with no room for more, or a system that lets no program start itself: see above
  }
}

function canStart(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// when this is imported, which is before anything else: what was made until then would be made twice (measured: 30 ms)
if (process.argv[2] === 'serve') keepHeapSmall()
