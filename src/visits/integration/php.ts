import type { Integration, IntegrationValues } from './types.ts'

/** PHP 8 with its curl extension. */
export const phpCode = ({ baseUrl, appId, home }: IntegrationValues): Integration => ({
  id: 'php',
  name: 'PHP',
  blocks: [
    {
      label: 'events.php',
      code: `<?php

/** Tells Eventpost what a user did. It never throws: your own work goes on. */
function send_event(string $email, string $event, array $properties = []): void
{
    $call = curl_init('${baseUrl}/api/v1/events');
    curl_setopt_array($call, [
        CURLOPT_POST => true,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 10,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('SERVICE_API_KEY'),
            'Content-Type: application/json',
        ],
        CURLOPT_POSTFIELDS => json_encode([
            'app' => '${appId}',
            'email' => $email,
            'event' => $event,
            'properties' => (object) $properties,
            'createContact' => true,
        ]),
    ]);
    $answer = curl_exec($call);
    $status = curl_getinfo($call, CURLINFO_RESPONSE_CODE);
    if ($answer === false) {
        error_log('Eventpost could not be reached: ' . curl_error($call));
    } elseif ($status >= 300) {
        error_log("Eventpost refused an event: $status $answer");
    }
}

// The first time the results of a user are ready:
send_event('ada@example.com', 'results_ready', [
    'url' => '${home}/results/1',
    'headline' => 'Your results are ready.',
]);`,
    },
    {
      label: 'identity.php',
      code: `<?php

/** Proves to Eventpost that a page speaks for this user. */
function identity_signature(string $email): string
{
    $secret = getenv('SERVICE_IDENTITY_SECRET') ?: '';

    return hash_hmac('sha256', strtolower(trim($email)), $secret);
}`,
    },
  ],
})
