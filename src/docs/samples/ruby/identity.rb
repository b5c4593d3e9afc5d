require 'openssl'

# Signs an email address, so that nobody can send page views in this user's name.
def identity_signature(email)
  secret = ENV.fetch('SERVICE_IDENTITY_SECRET', '')
  OpenSSL::HMAC.hexdigest('SHA256', secret, email.strip.downcase)
end
