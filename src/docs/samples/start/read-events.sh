curl "{base_url}/api/v1/events?app={app_id}" -H "Authorization: Bearer $SERVICE_API_KEY"
