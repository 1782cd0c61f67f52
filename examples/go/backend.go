// What a backend asks of `fanfare api`, with Go's standard library alone (1.19 or later).
//
//	FANFARE_URL=http://127.0.0.1:8080 FANFARE_KEY=ffk_... go run examples/go/backend.go
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// document is a JSON object, in or out.
type document = map[string]any

// Client asks one server with one key. It may be used by many goroutines.
type Client struct {
	base string
	key  string
	http http.Client
}

// NewClient takes where the server is, without a slash at the end, and a key of `fanfare api-key`.
func NewClient(base, key string) *Client {
	return &Client{base: base, key: key, http: http.Client{Timeout: 15 * time.Second}}
}

// Problem is a refusal: Code is for the program, Detail says what to change.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"type"`
	Detail string `json:"detail"`
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%d: %s", p.Status, p.Detail)
}

// path escapes each name for itself: ids may hold anything.
func path(names ...string) string {
	var made strings.Builder
	made.WriteString("/v1")
	for _, name := range names {
		made.WriteString("/" + url.PathEscape(name))
	}
	return made.String()
}

// ask makes one request. With a key, a POST is done once however often it is sent.
func (c *Client) ask(ctx context.Context, method, path string, body any, key string) (document, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, &content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		problem := &Problem{Status: response.StatusCode}
		if err := json.NewDecoder(response.Body).Decode(problem); err != nil {
			return nil, fmt.Errorf("%s: %w", response.Status, err)
		}
		return nil, problem
	}
	var answer document
	decoder := json.NewDecoder(response.Body)
	// Times in milliseconds are whole numbers, not floating ones.
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w", response.Status, err)
	}
	return answer, nil
}

// Device is what an app was given at its launch.
type Device struct {
	Token       string `json:"-"`
	Topic       string `json:"topic"`
	Environment string `json:"environment"`
	// Replaces is the token of the launch before; empty where the app remembers none.
	Replaces string `json:"replaces,omitempty"`
}

// Launched binds at log-in and at each launch: once more does no harm.
func (c *Client) Launched(ctx context.Context, user string, device Device) (document, error) {
	if device.Replaces == device.Token {
		device.Replaces = ""
	}
	return c.ask(ctx, http.MethodPut, path("users", user, "devices", device.Token), device, "")
}

// LoggedOut unbinds.
func (c *Client) LoggedOut(ctx context.Context, user, token string) (document, error) {
	return c.ask(ctx, http.MethodDelete, path("users", user, "devices", token), nil, "")
}

// SetProfile changes the fields that are named; nil takes one out.
func (c *Client) SetProfile(ctx context.Context, user string, fields document) (document, error) {
	return c.ask(ctx, http.MethodPatch, path("users", user, "profile"), fields, "")
}

// Follow lets the user follow the streamer.
func (c *Client) Follow(ctx context.Context, user, streamer string) (document, error) {
	return c.ask(ctx, http.MethodPut, path("users", user, "follows", streamer), nil, "")
}

// Event is of a streamer who went live.
type Event struct {
	ID         string    `json:"id"`
	App        string    `json:"app"`
	Streamer   Streamer  `json:"streamer"`
	Stream     Stream    `json:"stream"`
	OccurredAt time.Time `json:"occurred_at"`
}

// Streamer is who went live.
type Streamer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Stream is what there is to see.
type Stream struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// WentLive emits. The event's id makes it one event however often it is sent; the key, one request.
func (c *Client) WentLive(ctx context.Context, event Event) (document, error) {
	return c.ask(ctx, http.MethodPost, path("fanouts"), event, event.ID)
}

// FanOuts lists the events that began last, with their counters.
func (c *Client) FanOuts(ctx context.Context, limit int) (document, error) {
	return c.ask(ctx, http.MethodGet, fmt.Sprintf("%s?limit=%d", path("fanouts"), limit), nil, "")
}

func newID() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return "live-" + hex.EncodeToString(random[:]), nil
}

func run(ctx context.Context, client *Client) error {
	const app = "com.example.live"
	device := Device{Token: strings.Repeat("00aa", 16), Topic: app, Environment: "production"}
	id, err := newID()
	if err != nil {
		return err
	}
	event := Event{
		ID: id, App: app,
		Streamer:   Streamer{ID: "s42", Name: "Aiko"},
		Stream:     Stream{ID: "b-991", Title: "Speedrun night"},
		OccurredAt: time.Now().UTC(),
	}
	steps := []func() (document, error){
		func() (document, error) { return client.Launched(ctx, "u1", device) },
		func() (document, error) {
			return client.SetProfile(ctx, "u1", document{"locale": "ja", "name": "Ken"})
		},
		func() (document, error) { return client.Follow(ctx, "u1", "s42") },
		func() (document, error) { return client.WentLive(ctx, event) },
		// Empty until a worker has read the event.
		func() (document, error) { return client.FanOuts(ctx, 1) },
		func() (document, error) { return client.LoggedOut(ctx, "u1", device.Token) },
	}
	out := json.NewEncoder(os.Stdout)
	for _, step := range steps {
		answer, err := step()
		if err != nil {
			return err
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetFlags(0)
	base := os.Getenv("FANFARE_URL")
	if base == "" {
		base = "http://127.0.0.1:8080"
	}
	if err := run(context.Background(), NewClient(base, os.Getenv("FANFARE_KEY"))); err != nil {
		log.Fatal(err)
	}
}
