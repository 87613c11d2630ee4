// A backend-for-frontend with net/http alone, for Go 1.24: it fetches an upstream's list, posts it to diffserver as it
// is, and passes the changeset on. docs/bff.md explains each step. It needs a `userOf` of yours, which authenticates a
// request and names its user.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

var (
	diffserver = os.Getenv("DIFFSERVER_URL")
	secret     = os.Getenv("DIFFSERVER_SECRET")
	upstream   = os.Getenv("UPSTREAM_URL")
	client     = &http.Client{Timeout: 10 * time.Second}
)

// post tries up to four times under one key, so that nothing is done twice.
func post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	key := rand.Text() // Go 1.24; any text that is not used again
	for failures := 0; ; failures++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, diffserver+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
		answer, err := client.Do(request)
		passing := err != nil || answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
		if !passing || failures == 3 {
			return answer, err
		}
		pause := 100 * time.Millisecond << failures
		if err == nil {
			if seconds, wrong := strconv.Atoi(answer.Header.Get("Retry-After")); wrong == nil {
				pause += time.Duration(seconds) * time.Second
			}
			answer.Body.Close()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// session is one list as one user may see it.
func session(request *http.Request) string {
	hash := sha256.Sum256([]byte(userOf(request)))
	return "fires:" + hex.EncodeToString(hash[:12])
}

func changes(writer http.ResponseWriter, request *http.Request) {
	list, err := client.Get(upstream + "/fires")
	if err != nil {
		http.Error(writer, "upstream failed", http.StatusBadGateway)
		return
	}
	defer list.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(writer, list.Body, 16<<20))
	if err != nil || list.StatusCode != http.StatusOK {
		http.Error(writer, "upstream failed", http.StatusBadGateway)
		return
	}
	// Get is "" for a client that has nothing yet, which is what since says then.
	query := url.Values{
		"itemsAt": {"/Incidents"}, "idAt": {"/UniqueId"}, "dialect": {"staged"}, "since": {request.URL.Query().Get("since")},
	}
	answer, err := post(request.Context(), "/v1/sessions/"+session(request)+"/changes?"+query.Encode(), body)
	pass(writer, answer, err)
}

func token(writer http.ResponseWriter, request *http.Request) {
	wanted := []byte(`{"ttl":3600,"scope":["read"]}`)
	answer, err := post(request.Context(), "/v1/sessions/"+session(request)+"/tokens", wanted)
	pass(writer, answer, err)
}

// pass hands an answer on as it is.
func pass(writer http.ResponseWriter, answer *http.Response, err error) {
	if err != nil {
		http.Error(writer, "no answer", http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if value := answer.Header.Get(name); value != "" {
			writer.Header().Set(name, value)
		}
	}
	writer.Header().Set("Cache-Control", "no-store")
	writer.WriteHeader(answer.StatusCode)
	io.Copy(writer, answer.Body)
}

func main() {
	http.HandleFunc("GET /lists/fires/changes", changes)
	http.HandleFunc("POST /lists/fires/token", token)
	log.Fatal(http.ListenAndServe("127.0.0.1:3000", nil))
}
