import { expect, test } from 'bun:test'
import { readArguments } from '../../src/cli/command.ts'
import { SETTINGS } from '../../src/config.ts'
import { lockFolder, readAddress } from '../../src/store/engine/folder-lock.ts'
import { makeFolder } from '../store/samples.ts'
import { health } from '../../src/cli/health.ts'

const run = (words: string[], env: Record<string, string> = {}) => health.run(readArguments(health, words), env)

async function withServer(answer: () => Response, ask: (port: string) => Promise<void>): Promise<void> {
  const paths: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      paths.push(new URL(url).pathname)
      return answer()
    },
  })
  await ask(String(server.port))
  expect(new Set(paths)).toEqual(new Set(['/readyz']))
  await server.stop(true)
}

test('health is for a server that saves data, wherever it listens', async () => {
  await withServer(
    () => Response.json({ ok: true }),
    async (port) => {
      expect(await run([], { EVENTPOST_HOST: '0.0.0.0', EVENTPOST_PORT: port })).toBe('The server is ready.')
      expect(await run(['--port', port], { EVENTPOST_PORT: '1' })).toBe('The server is ready.')
      expect(await run([], { PORT: port })).toBe('The server is ready.')
    },
  )
})

test('health finds the server of the data folder, unless it is told another', async () => {
  const { folder, remove } = makeFolder()
  const lock = lockFolder(folder)
  await withServer(
    () => Response.json({ ok: true }),
    async (port) => {
      lock.noteAddress({ baseUrl: 'https://post.example.com', listensOn: `0.0.0.0:${port}` })
      expect(await run(['--data', folder])).toBe('The server is ready.')
      expect(await run([], { EVENTPOST_DATA: folder, EVENTPOST_HOST: '0.0.0.0' })).toBe('The server is ready.')
      await expect(run(['--data', folder, '--port', '1'])).rejects.toThrow('No server responds at http://127.0.0.1:1/')
      await expect(run(['--data', folder], { PORT: '1' })).rejects.toThrow('No server responds at http://127.0.0.1:1/')
      expect(readAddress(folder)).toBe('https://post.example.com')
    },
  )
  lock.release()
  remove()
})

test('health is refused with the reason of the server', async () => {
  const reason = 'Eventpost is stopping.'
  await withServer(
    () => Response.json({ ok: false, reason }, { status: 503 }),
    async (port) => expect(run(['--port', port])).rejects.toThrow(new RegExp(`^${reason}$`)),
  )
  await withServer(
    () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
    async (port) => expect(run(['--port', port])).rejects.toThrow('The server responded with 502.'),
  )
})

test('health asks the server itself, whatever proxy the environment has', async () => {
  const { HTTP_PROXY, NO_PROXY, no_proxy } = process.env
  const before = { HTTP_PROXY, NO_PROXY, no_proxy }
  Object.assign(process.env, { HTTP_PROXY: 'http://127.0.0.1:1', no_proxy: 'other.example' })
  try {
    await withServer(
      () => Response.json({ ok: true }),
      async (port) => expect(await run(['--port', port])).toBe('The server is ready.'),
    )
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
})

test('the help says where it looks, also with PostgreSQL', async () => {
  for (const [name, fallback] of [
    ['host', SETTINGS.host.default],
    ['port', SETTINGS.port.default],
  ] as const)
    expect(health.options[name]?.default).toBe(
      `that of the server that uses the data folder; with PostgreSQL, ${fallback}`,
    )
  await expect(
    run([], { EVENTPOST_DATABASE_URL: 'postgres://127.0.0.1:1/eventpost', EVENTPOST_HOST: '::1' }),
  ).rejects.toThrow(`No server responds at http://[::1]:${SETTINGS.port.default}/`)
})

test('health is refused without a server', async () => {
  await expect(run(['--host', '::', '--port', '1'])).rejects.toThrow(
    'No server responds at http://[::1]:1/readyz. Start it, or set --host and --port as for serve.',
  )
})
