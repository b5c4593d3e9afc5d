/** A real Chromium before a real server on a port of its own. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { createTestServer, type Options } from '../helper.ts'

const PATH = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const QUIET = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync']

/** False where there is no Chromium to try things in. */
export const hasChromium = existsSync(PATH)

export const openChromium = (): Promise<Browser> => chromium.launch({ executablePath: PATH, args: QUIET })

/** A whole server that a browser can reach; `close` ends it. */
export async function serveTest(options: Options = {}) {
  const server = await createTestServer(options)
  const http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => server.send(request, '127.0.0.1') })
  return {
    ...server,
    url: `http://localhost:${http.port}`,
    close: async (): Promise<void> => {
      await http.stop(true)
      await server.close()
    },
  }
}
