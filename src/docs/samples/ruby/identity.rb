require 'openssl'

# Proves to Eventpost that a page speaks for this user.
def identity_signature(email)
  secret = ENV.fetch('SERVICE_IDENTITY_SECRET', '')
  OpenSSL::HMAC.hexdigest('SHA256', secret, email.strip.downcase)
end
