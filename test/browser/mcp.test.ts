import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { MCP } from '../mcp/client.ts'
import { openChromium, serveTest } from './chromium.ts'

const TRY_MS = 120_000
const SDK = join(import.meta.dir, '../../node_modules/@modelcontextprotocol/sdk/dist/esm/client')

/** `callMcp` resolves to the client's result or the name of its error. */
const PAGE_SCRIPT = `
  import { Client } from ${JSON.stringify(`${SDK}/index.js`)}
  import { StreamableHTTPClientTransport } from ${JSON.stringify(`${SDK}/streamableHttp.js`)}
  window.callMcp = async (url, key) => {
    const errors = []
    const client = new Client({ name: 'page', version: '1' })
    client.onerror = (error) => errors.push(String(error))
    const requestInit = { headers: { Authorization: 'Bearer ' + key } }
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
      const { tools } = await client.listTools()
      const { structuredContent } = await client.callTool({ name: 'get_key_info', arguments: {} })
      return { tools: tools.length, scope: structuredContent.key.scope, errors }
    } catch (error) {
      return { failed: String(error) }
    }
  }`

async function bundlePage(): Promise<string> {
  const built = await Bun.build({
    entrypoints: ['/page.js'],
    files: { '/page.js': PAGE_SCRIPT },
    target: 'browser',
  })
  return (await built.outputs[0]?.text()) ?? ''
}

describe('a page of another origin', () => {
  let browser: Browser
  let script: string
  const servePage = () =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) =>
        url.endsWith('.js')
          ? new Response(script, { headers: { 'Content-Type': 'text/javascript' } })
          : new Response('<script type="module" src="/page.js"></script>', {
              headers: { 'Content-Type': 'text/html' },
            }),
    })
  beforeAll(async () => {
    script = await bundlePage()
    browser = await openChromium()
  })
  afterAll(() => browser?.close())

  test(
    'calls the MCP server if listed, and reads errors of a wrong key; others read nothing',
    async () => {
      const [listed, other] = [servePage(), servePage()]
      const server = await serveTest({ mcpOrigins: [`http://127.0.0.1:${listed.port}`] })
      const callFrom = async (port: number | undefined, key: string) => {
        const page = await browser.newPage()
        await page.goto(`http://127.0.0.1:${port}/`)
        await page.waitForFunction('window.callMcp')
        const asked = [`http://127.0.0.1:${new URL(server.url).port}${MCP}`, key]
        const result = await page.evaluate<unknown>(`callMcp(${asked.map((one) => JSON.stringify(one)).join()})`)
        await page.close()
        return result
      }
      expect(await callFrom(listed.port, server.first.apiKey)).toEqual({
        tools: expect.any(Number),
        scope: 'standard',
        errors: [],
      })
      expect(await callFrom(listed.port, 'mc_wrong')).toEqual({ failed: expect.stringContaining('Invalid API key') })
      expect(await callFrom(other.port, server.first.apiKey)).toEqual({
        failed: expect.stringContaining('Failed to fetch'),
      })
      await Promise.all([listed.stop(true), other.stop(true), server.close()])
    },
    TRY_MS,
  )
})
