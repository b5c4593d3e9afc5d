import { afterEach } from 'bun:test'

type Closable = { close(): Promise<void> }

/** What a test opens is given to this function, gets closed after the test, and is given back. */
export function useClosing(): <T extends Closable>(one: T) => T {
  const opened: Closable[] = []
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
  })
  return (one) => {
    opened.push(one)
    return one
  }
}
