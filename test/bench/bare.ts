/** What everything is measured against: a server that parses JSON, answers 202 and keeps nothing. */
const server = Bun.serve({
  port: Number(process.argv[2] ?? 0),
  hostname: '127.0.0.1',
  async fetch(request) {
    await request.json()
    return new Response('{"ok":true}', { status: 202, headers: { 'Content-Type': 'application/json' } })
  },
})
console.log(`listening on http://127.0.0.1:${server.port}`)
