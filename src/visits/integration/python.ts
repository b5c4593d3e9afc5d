import type { Integration, IntegrationValues } from './types.ts'

/** Python 3 with nothing but its own library. */
export const pythonCode = ({ baseUrl, appId, home }: IntegrationValues): Integration => ({
  id: 'python',
  name: 'Python',
  blocks: [
    {
      label: 'events.py',
      code: `import json
import logging
import os
from urllib import error, request


def send_event(email, event, properties=None):
    """Tells Eventpost what a user did. It never raises: your own work goes on."""
    body = {
        "app": "${appId}",
        "email": email,
        "event": event,
        "properties": properties or {},
        "createContact": True,
    }
    headers = {
        "Authorization": "Bearer " + os.environ.get("SERVICE_API_KEY", ""),
        "Content-Type": "application/json",
    }
    try:
        url = "${baseUrl}/api/v1/events"
        call = request.Request(url, json.dumps(body).encode(), headers)
        request.urlopen(call, timeout=10).close()
    except error.HTTPError as refused:
        reason = refused.read().decode()
        logging.error("Eventpost refused an event: %s %s", refused.code, reason)
    except Exception as failure:
        logging.error("Eventpost could not be reached: %s", failure)


# The first time the results of a user are ready:
send_event(
    "ada@example.com",
    "results_ready",
    {"url": "${home}/results/1", "headline": "Your results are ready."},
)`,
    },
    {
      label: 'identity.py',
      code: `import hashlib
import hmac
import os


def identity_signature(email):
    """Proves to Eventpost that a page speaks for this user."""
    secret = os.environ.get("SERVICE_IDENTITY_SECRET", "")
    signed = email.strip().lower().encode()
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()`,
    },
  ],
})
