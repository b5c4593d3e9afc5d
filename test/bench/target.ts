import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { signEmail } from '../../src/accounts/identity.ts'
import type { People, Target } from './load.ts'
import { runJson, type Service, startService } from './service.ts'

/** Starts an executable on a new data folder below `folder`, without limits, with so many people whose emails are signed. */
export async function startTarget(executable: string, folder: string, people: number, env = {}) {
  mkdirSync(folder, { recursive: true })
  const data = join(folder, 'data')
  const begin = ['init', '--data', data, '--email', 'bench@example.com', '--app', 'Bench', '--domain', 'example.com']
  const made = await runJson([executable, ...begin, '--json'], folder, env)
  const lifted = ['--events-per-hour', 'unlimited', '--snippet-limits', 'off']
  await runJson([executable, 'plan', 'set', '--data', data, ...lifted, '--json'], folder, env)
  const serve = [executable, 'serve', '--data', data]
  const start = (): Promise<Service> => startService([...serve, '--port', '0'], folder, env)
  const service = await start()
  const ids = { app: made.appId ?? '', key: made.apiKey ?? '', site: made.siteId ?? '' }
  const signed = await signPeople(made.identitySecret ?? '', join(folder, 'people.txt'), people)
  const target: Target = { url: service.url, ...ids, run: '0', people: signed }
  return { service, target, start, data, serve }
}

/** People with their signatures, in the file that wrk's script reads. */
async function signPeople(secret: string, file: string, people: number): Promise<People> {
  const signed = Array.from({ length: people }, (_, index) => {
    const email = `person${index}@example.com`
    return { email, signature: signEmail(email, secret) }
  })
  await Bun.write(file, signed.map(({ email, signature }) => `${email} ${signature}\n`).join(''))
  return { file, signed }
}
