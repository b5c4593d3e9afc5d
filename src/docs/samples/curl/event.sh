curl -sS --max-time 10 --fail-with-body '{base_url}/api/v1/events' \
  -H "Authorization: Bearer $SERVICE_API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{
    "app": "{app_id}",
    "email": "ada@example.com",
    "event": "results_ready",
    "createContact": true,
    "properties": {
      "url": "{home_url}/results/1",
      "headline": "Your 12 pictures are ready."
    }
  }' || echo 'Eventpost did not accept the event.' >&2
