import type { Integration, IntegrationValues } from './types.ts'

/** The same for everything that has fetch; only where the key is read from differs. */
const sendEvent = ({ baseUrl, appId }: IntegrationValues, environment: string, types: boolean): string => {
  const signature = types ? 'email: string, event: string, properties: object = {}' : 'email, event, properties = {}'
  return `/** Tells Eventpost what a user did. It never throws: your own work goes on. */
export async function sendEvent(${signature}) {
  try {
    const response = await fetch('${baseUrl}/api/v1/events', {
      method: 'POST',
      headers: {
        Authorization: \`Bearer \${${environment}.SERVICE_API_KEY}\`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        app: '${appId}',
        email,
        event,
        properties,
        createContact: true,
      }),
      signal: AbortSignal.timeout(10_000),
    })
    if (response.ok) return
    console.error('Eventpost refused an event:', response.status, await response.text())
  } catch (error) {
    console.error('Eventpost could not be reached:', error)
  }
}`
}

const example = ({ home }: IntegrationValues): string => `// The first time the results of a user are ready:
await sendEvent('ada@example.com', 'results_ready', {
  url: '${home}/results/1',
  headline: 'Your results are ready.',
})`

export const nodeCode = (values: IntegrationValues): Integration => ({
  id: 'node',
  name: 'Node',
  blocks: [
    { label: 'events.mjs', code: `${sendEvent(values, 'process.env', false)}\n\n${example(values)}` },
    {
      label: 'identity.mjs',
      code: `import { createHmac } from 'node:crypto'

/** Proves to Eventpost that a page speaks for this user. */
export function identitySignature(email) {
  const secret = process.env.SERVICE_IDENTITY_SECRET ?? ''
  return createHmac('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}`,
    },
  ],
})

export const bunCode = (values: IntegrationValues): Integration => ({
  id: 'bun',
  name: 'Bun',
  blocks: [
    { label: 'events.ts', code: `${sendEvent(values, 'Bun.env', true)}\n\n${example(values)}` },
    {
      label: 'identity.ts',
      code: `/** Proves to Eventpost that a page speaks for this user. */
export function identitySignature(email: string): string {
  const secret = Bun.env.SERVICE_IDENTITY_SECRET ?? ''
  return new Bun.CryptoHasher('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}`,
    },
  ],
})

export const nextCode = (values: IntegrationValues): Integration => ({
  id: 'nextjs',
  name: 'Next.js',
  blocks: [
    {
      label: 'lib/eventpost.ts',
      code: `import 'server-only'
import { createHmac } from 'node:crypto'

${sendEvent(values, 'process.env', true)}

/** Proves to Eventpost that a page speaks for this user. */
export function identitySignature(email: string): string {
  const secret = process.env.SERVICE_IDENTITY_SECRET ?? ''
  return createHmac('sha256', secret).update(email.trim().toLowerCase()).digest('hex')
}`,
    },
    {
      label: 'In a server action or a route handler',
      code: `import { sendEvent } from '@/lib/eventpost'

${example(values)}`,
    },
    {
      label: 'components/identify.tsx',
      code: `'use client'
import { useEffect } from 'react'

type User = { email: string; signature: string }

/**
 * In the layout of signed-in pages:
 * <Identify email={user.email} signature={identitySignature(user.email)} />
 */
export function Identify({ email, signature }: User) {
  useEffect(() => {
    const page = window as { service?: (call: 'identify', user: User) => void }
    page.service?.('identify', { email, signature })
  }, [email, signature])
  return null
}`,
    },
  ],
})
