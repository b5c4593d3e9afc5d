package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
)

// identitySignature proves to Eventpost that a page speaks for this user.
func identitySignature(email string) string {
	mac := hmac.New(sha256.New, []byte(os.Getenv("SERVICE_IDENTITY_SECRET")))
	mac.Write([]byte(strings.ToLower(strings.TrimSpace(email))))
	return hex.EncodeToString(mac.Sum(nil))
}
