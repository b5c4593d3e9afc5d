import { readdirSync } from 'node:fs'
const fds = () => readdirSync('/proc/self/fd').length
console.log(fds())
for (let i = 0; i < 10; i++) {
  const w = new Worker('/tmp/s30/w/w.ts', { smol: true })
  await new Promise<void>((r) => {
    w.onmessage = ({ data }) => {
      if (data === 'ready') w.postMessage(1)
      else r()
    }
  })
  await Bun.sleep(50)
  const t = performance.now()
  const closed = new Promise((r) => w.addEventListener('close', r))
  w.terminate()
  await closed
  console.log(fds(), performance.now() - t, (process.memoryUsage().rss / 1e6) | 0)
}
await Bun.sleep(500)
Bun.gc(true)
console.log(fds())
