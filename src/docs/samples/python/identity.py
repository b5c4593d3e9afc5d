import hashlib
import hmac
import os


def identity_signature(email):
    """Signs an email address, so that nobody can send page views in this user's name."""
    secret = os.environ.get("SERVICE_IDENTITY_SECRET", "")
    signed = email.strip().lower().encode()
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
