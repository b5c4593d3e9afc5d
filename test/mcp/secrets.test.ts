import { expect, test } from 'bun:test'
import { createTestServer, type TestServer } from '../helper.ts'
import { createMessaging } from '../messaging.ts'
import { ask, callTool, openManaged, rpc } from './client.ts'
import { argumentsFor } from './outside.ts'

/** Secrets that no tool may return. */
async function setSecrets(server: TestServer): Promise<string[]> {
  const [password, dkimKey, bounceSecret] = ['pw_9f2c71aa', 'dkim_41d0c2b7', 'bounce_77e1a0f3']
  const { set } = await createMessaging(server)
  await set({ smtpUrl: `smtp://user:${password}@127.0.0.1:1`, dkimKey, bounceSecret, dkimDomain: 'first.example' })
  return [password, dkimKey, bounceSecret]
}

test('answers and logs contain no key, secret or value', async () => {
  const server = await createTestServer()
  const secrets = await setSecrets(server)
  const app = server.first.appId
  const answers: string[] = []
  const { how, ...known } = await openManaged(server)
  for (const [name, args] of Object.entries(argumentsFor(app, known)))
    answers.push((await callTool(server, name, args, how)).answer.text)
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])
    answers.push((await rpc(server, method)).text)
  const { resources } = await ask<{ resources: { uri: string }[] }>(server, 'resources/list')
  for (const { uri } of resources) answers.push((await rpc(server, 'resources/read', { uri })).text)
  for (const [name, args] of [
    ['set_up_app', { app }],
    ['find_out_why_no_mail', { app, email: 'ada@example.com' }],
  ])
    answers.push((await rpc(server, 'prompts/get', { name, arguments: args })).text)
  const wrong = `${server.first.apiKey.slice(0, -1)}_`
  answers.push(
    (await rpc(server, 'ping', {}, { key: wrong })).text,
    (await rpc(server, 'ping', {}, { headers: { Origin: wrong } })).text,
  )
  answers.push((await callTool(server, 'get_contact', { app: server.first.apiKey, email: 'x' })).answer.text)
  await server.parts().calls.save()
  const calls = JSON.stringify(await server.parts().store.listCalls(server.first.accountId, 100))
  const logged = server.logged()
  expect(answers.length).toBeGreaterThan(25)
  for (const text of [...answers, logged, calls])
    for (const secret of [
      ...secrets,
      how.key,
      server.first.apiKey,
      server.first.identitySecret,
      server.second.apiKey,
      server.second.identitySecret,
    ])
      expect(text.includes(secret.slice(3, -1))).toBe(false)
  for (const text of [logged, calls]) expect(text).not.toMatch(/canary|Ada|Lovelace|ada@example/)
  expect(logged).toContain('"route":"/mcp"')
  await server.close()
})
