/** Sends an event to Eventpost. Errors are logged, never thrown. */
export async function sendEvent(email: string, event: string, properties: object = {}) {
  try {
    const response = await fetch('{base_url}/api/v1/events', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${Bun.env.SERVICE_API_KEY}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        app: '{app_id}',
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
    console.error('Could not reach Eventpost:', error)
  }
}

// Call this the first time a user's results are ready:
await sendEvent('ada@example.com', 'results_ready', {
  url: '{home_url}/results/1',
  headline: 'Your 12 pictures are ready.',
})
