<?php

/** Sends an event to Eventpost. Needs PHP's curl extension. Errors are logged, never thrown. */
function send_event(string $email, string $event, array $properties = []): void
{
    $curl = curl_init('{base_url}/api/v1/events');
    curl_setopt_array($curl, [
        CURLOPT_POST => true,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 10,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('SERVICE_API_KEY'),
            'Content-Type: application/json',
        ],
        CURLOPT_POSTFIELDS => json_encode([
            'app' => '{app_id}',
            'email' => $email,
            'event' => $event,
            'properties' => (object) $properties,
            'createContact' => true,
        ]),
    ]);
    $response = curl_exec($curl);
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    if ($response === false) {
        error_log('Could not reach Eventpost: ' . curl_error($curl));
    } elseif ($status >= 300) {
        error_log("Eventpost refused an event: $status $response");
    }
}

// Call this the first time a user's results are ready:
send_event('ada@example.com', 'results_ready', [
    'url' => '{home_url}/results/1',
    'headline' => 'Your 12 pictures are ready.',
]);
