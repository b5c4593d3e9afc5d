import { sendEvent } from '@/lib/eventpost'

// The first time the results of a user are ready:
await sendEvent('ada@example.com', 'results_ready', {
  url: '{home_url}/results/1',
  headline: 'Your 12 pictures are ready.',
})
