printf %s 'ada@example.com' \
  | openssl dgst -sha256 -hmac "$SERVICE_IDENTITY_SECRET" | sed 's/^.* //'
