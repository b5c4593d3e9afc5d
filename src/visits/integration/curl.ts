import type { Integration, IntegrationValues } from './types.ts'

/** For a terminal, and for whatever has no library. */
export const curlCode = ({ baseUrl, appId, home }: IntegrationValues): Integration => ({
  id: 'curl',
  name: 'curl',
  blocks: [
    {
      label: 'Send an event',
      code: `curl -sS --max-time 10 --fail-with-body '${baseUrl}/api/v1/events' \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{
    "app": "${appId}",
    "email": "ada@example.com",
    "event": "results_ready",
    "createContact": true,
    "properties": {
      "url": "${home}/results/1",
      "headline": "Your results are ready."
    }
  }' || echo 'Eventpost did not take the event.' >&2`,
    },
    {
      label: 'Sign an email',
      code: `printf %s 'ada@example.com' \\
  | openssl dgst -sha256 -hmac "$SERVICE_IDENTITY_SECRET" | sed 's/^.* //'`,
    },
  ],
})
