import json
import logging
import os
from urllib import error, request


def send_event(email, event, properties=None):
    """Tells Eventpost what a user did. It never raises: your own work goes on."""
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
    {"url": "{home_url}/results/1", "headline": "Your 12 pictures are ready."},
)
