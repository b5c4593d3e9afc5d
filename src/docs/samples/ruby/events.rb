require 'json'
require 'net/http'
require 'timeout'

# Sends an event to Eventpost. Errors are logged, never raised.
def send_event(email, event, properties = {})
  url = URI('{base_url}/api/v1/events')
  body = {
    app: '{app_id}',
    email: email,
    event: event,
    properties: properties,
    createContact: true
  }
  headers = {
    'Authorization' => "Bearer #{ENV['SERVICE_API_KEY']}",
    'Content-Type' => 'application/json'
  }
  response = Timeout.timeout(10) { Net::HTTP.post(url, body.to_json, headers) }
  return if response.is_a?(Net::HTTPSuccess)

  warn "Eventpost refused an event: #{response.code} #{response.body}"
rescue StandardError => error
  warn "Could not reach Eventpost: #{error.message}"
end

# Call this the first time a user's results are ready:
send_event('ada@example.com', 'results_ready', {
  url: '{home_url}/results/1',
  headline: 'Your 12 pictures are ready.'
})
