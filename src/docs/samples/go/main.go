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

// sendEvent tells Eventpost what a user did. What fails is logged: your own work goes on.
func sendEvent(email, event string, properties map[string]any) {
	body, err := json.Marshal(map[string]any{
		"app":           "{app_id}",
		"email":         email,
		"event":         event,
		"properties":    properties,
		"createContact": true,
	})
	if err != nil {
		log.Printf("The properties of an event are not JSON: %v", err)
		return
	}
	url := "{base_url}/api/v1/events"
	call, _ := http.NewRequest("POST", url, bytes.NewReader(body))
	call.Header.Set("Authorization", "Bearer "+os.Getenv("SERVICE_API_KEY"))
	call.Header.Set("Content-Type", "application/json")
	answer, err := eventpost.Do(call)
	if err != nil {
		log.Printf("Eventpost could not be reached: %v", err)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		log.Printf("Eventpost refused an event: %d %s", answer.StatusCode, text)
	}
}

func main() {
	// The first time the results of a user are ready:
	sendEvent("ada@example.com", "results_ready", map[string]any{
		"url":      "{home_url}/results/1",
		"headline": "Your 12 pictures are ready.",
	})
}
