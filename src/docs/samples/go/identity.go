package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
)

// identitySignature signs an email address, so that nobody can send page views in this user's name.
func identitySignature(email string) string {
	mac := hmac.New(sha256.New, []byte(os.Getenv("SERVICE_IDENTITY_SECRET")))
	mac.Write([]byte(strings.ToLower(strings.TrimSpace(email))))
	return hex.EncodeToString(mac.Sum(nil))
}
