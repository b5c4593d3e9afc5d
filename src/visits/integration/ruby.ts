import type { Integration, IntegrationValues } from './types.ts'

/** Ruby with nothing but its own library. */
export const rubyCode = ({ baseUrl, appId, home }: IntegrationValues): Integration => ({
  id: 'ruby',
  name: 'Ruby',
  blocks: [
    {
      label: 'events.rb',
      code: `require 'json'
require 'net/http'
require 'timeout'

# Tells Eventpost what a user did. It never raises: your own work goes on.
def send_event(email, event, properties = {})
  url = URI('${baseUrl}/api/v1/events')
  body = {
    app: '${appId}',
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
  url: '${home}/results/1',
  headline: 'Your results are ready.'
})`,
    },
    {
      label: 'identity.rb',
      code: `require 'openssl'

# Proves to Eventpost that a page speaks for this user.
def identity_signature(email)
  secret = ENV.fetch('SERVICE_IDENTITY_SECRET', '')
  OpenSSL::HMAC.hexdigest('SHA256', secret, email.strip.downcase)
end`,
    },
  ],
})
