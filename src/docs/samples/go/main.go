package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

var eventpost = &http.Client{Timeout: 10 * time.Second}

// sendEvent sends an event to Eventpost. Errors are only logged.
func sendEvent(email, event string, properties map[string]any) {
	if properties == nil {
		properties = map[string]any{} // a nil map would be sent as null
	}
	body, err := json.Marshal(map[string]any{
		"app":           "{app_id}",
		"email":         email,
		"event":         event,
		"properties":    properties,
		"createContact": true,
	})
	if err != nil {
		log.Printf("Could not encode an event as JSON: %v", err)
		return
	}
	url := "{base_url}/api/v1/events"
	req, _ := http.NewRequest("POST", url, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+os.Getenv("SERVICE_API_KEY"))
	req.Header.Set("Content-Type", "application/json")
	response, err := eventpost.Do(req)
	if err != nil {
		log.Printf("Could not reach Eventpost: %v", err)
		return
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		log.Printf("Eventpost refused an event: %d %s", response.StatusCode, text)
	}
}

func main() {
	// Call this the first time a user's results are ready:
	sendEvent("ada@example.com", "results_ready", map[string]any{
		"url":      "{home_url}/results/1",
		"headline": "Your 12 pictures are ready.",
	})
}
