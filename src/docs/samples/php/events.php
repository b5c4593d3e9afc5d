<?php

/** Tells Eventpost what a user did. It never throws: your own work goes on. */
function send_event(string $email, string $event, array $properties = []): void
{
    $call = curl_init('{base_url}/api/v1/events');
    curl_setopt_array($call, [
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
    'url' => '{home_url}/results/1',
    'headline' => 'Your 12 pictures are ready.',
]);
