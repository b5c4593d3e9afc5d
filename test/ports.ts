/** Ports that stay free until they are used, or used again: the system gives none of them to whoever asks for any. */
const [FIRST, COUNT] = [12_000, 20_000]

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

export async function findPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    try {
      await Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true)
      return port
    } catch (error) {
      if (!isTaken(error)) throw error
    }
  }
}
