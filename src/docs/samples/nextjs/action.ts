import { sendEvent } from '@/lib/eventpost'

// Call this the first time a user's results are ready:
await sendEvent('ada@example.com', 'results_ready', {
  url: '{home_url}/results/1',
  headline: 'Your 12 pictures are ready.',
})
