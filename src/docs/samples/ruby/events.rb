require 'json'
require 'net/http'
require 'timeout'

# Tells Eventpost what a user did. It never raises: your own work goes on.
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
  answer = Timeout.timeout(10) { Net::HTTP.post(url, body.to_json, headers) }
  return if answer.is_a?(Net::HTTPSuccess)

  warn "Eventpost refused an event: #{answer.code} #{answer.body}"
rescue StandardError => error
  warn "Eventpost could not be reached: #{error.message}"
end

# The first time the results of a user are ready:
send_event('ada@example.com', 'results_ready', {
  url: '{home_url}/results/1',
  headline: 'Your 12 pictures are ready.'
})
