/** A TCP proxy in front of servers that can be cut off or made silent. Connections take turns between those that are up. */
import { connect, createServer, type Socket } from 'node:net'

export type Target = { host: string; port: number }

/**
 * What becomes of a connection whose client says something. `swallowAnswers`: the server still gets what it said;
 * `cutAnswers`: and the connection ends instead of its answer.
 */
export type Fate = 'pass' | 'cut' | 'swallow' | 'swallowAnswers' | 'cutAnswers'

export type Proxy = Awaited<ReturnType<typeof startProxy>>

/** Longer messages are none of PostgreSQL's protocol, but HTTP. */
const MOST_BYTES = 50_000_000

/** What a client says, with the text of each prepared statement that it runs. */
function createReader(): (data: Buffer) => string {
  const texts = new Map<string, string>()
  let rest: Buffer | null = Buffer.alloc(0)
  return (data) => {
    let said = data.toString('latin1')
    rest = rest && Buffer.concat([rest, data])
    while (rest !== null && rest.length > 4) {
      // the first messages of a connection have no type
      const typeLength = rest[0] === 0 ? 0 : 1
      const end = rest.readUInt32BE(typeLength) + typeLength
      if (end > MOST_BYTES) rest = null
      if (rest === null || rest.length < end) break
      const [first = '', second = ''] = rest.toString('latin1', typeLength + 4, end).split('\0')
      const type = String.fromCharCode(rest[0] ?? 0)
      if (type === 'P') texts.set(first, second)
      if (type === 'B') said += `\n${texts.get(second) ?? ''}`
      rest = rest.subarray(end)
    }
    return said
  }
}

/** `targets` is asked for each connection; without one, the connection is closed. */
export async function startProxy(targets: () => readonly Target[]) {
  const open = new Set<Socket>()
  let turn = 0
  let isCut = false
  /** connections of an earlier one are silent */
  let generation = 0
  let isDark = false
  let decide: (text: string) => Fate = () => 'pass'

  /** Answers nothing, ever. */
  const hold = (client: Socket): void => {
    open.add(client)
    client.on('error', () => {})
    client.on('close', () => open.delete(client))
    client.resume()
  }
  const server = createServer((client) => {
    if (isDark) return hold(client)
    const all = targets()
    const target = all[turn++ % Math.max(1, all.length)]
    if (isCut || target === undefined) return client.destroy()
    const behind = connect(target.port, target.host)
    const own = generation
    let [isSilent, isEnding] = [false, false]
    const readText = createReader()
    const mayPass = (): boolean => !isSilent && own === generation
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      open.add(one)
      one.setNoDelay(true)
      one.on('error', () => {})
      one.on('close', () => {
        open.delete(one)
        // nobody hears the end of a silent connection
        if (own === generation) other.destroy()
      })
    }
    client.on('data', (data) => {
      if (!mayPass()) return
      const fate = decide(readText(Buffer.from(data)))
      if (fate === 'cut') return void client.destroy()
      isSilent = fate !== 'pass'
      isEnding = fate === 'cutAnswers'
      if (fate !== 'swallow') behind.write(data)
    })
    behind.on('data', (data) => {
      if (isEnding) client.destroy()
      else if (mayPass()) client.write(data)
    })
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const closeAll = (): void => open.forEach((socket) => socket.destroy())

  return {
    port,
    onRequest: (change: typeof decide): void => void (decide = change),
    pass: (): void => void (decide = () => 'pass'),
    /** Ends all connections. */
    closeAll,
    /** Ends all connections and takes none. */
    cut(): void {
      isCut = true
      closeAll()
    },
    heal(): void {
      isCut = false
      isDark = false
    },
    /** What is connected hears nothing any more, not even an end; what connects from now on works. */
    silence(): void {
      generation += 1
    },
    /** What is connected, and what connects until it heals, hears nothing any more. */
    darken(): void {
      generation += 1
      isDark = true
    },
    async stop(): Promise<void> {
      closeAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
