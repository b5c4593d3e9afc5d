import json
import logging
import os
from urllib import error, request


def send_event(email, event, properties=None):
    """Sends an event to Eventpost. Errors are logged, never raised."""
    body = {
        "app": "{app_id}",
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
        url = "{base_url}/api/v1/events"
        req = request.Request(url, json.dumps(body).encode(), headers)
        request.urlopen(req, timeout=10).close()
    except error.HTTPError as refused:
        reason = refused.read().decode()
        logging.error("Eventpost refused an event: %s %s", refused.code, reason)
    except Exception as failure:
        logging.error("Could not reach Eventpost: %s", failure)


# Call this the first time a user's results are ready:
send_event(
    "ada@example.com",
    "results_ready",
    {"url": "{home_url}/results/1", "headline": "Your 12 pictures are ready."},
)
