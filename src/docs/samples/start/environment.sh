export SERVICE_API_KEY={api_key}
export SERVICE_IDENTITY_SECRET={identity_secret}
