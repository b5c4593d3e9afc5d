import hashlib
import hmac
import os


def identity_signature(email):
    """Proves to Eventpost that a page speaks for this user."""
    secret = os.environ.get("SERVICE_IDENTITY_SECRET", "")
    signed = email.strip().lower().encode()
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
