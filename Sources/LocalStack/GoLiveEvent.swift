import Telemetry
import Terminal

/// A go-live event as a live backend writes it.
package struct GoLiveEvent {
  package let id: String
  package let streamer: String

  package init(id: String, streamer: String) {
    self.id = id
    self.streamer = streamer
  }

  /// - Parameter occurredAt: ms since 1970.
  package func json(occurredAt: Int64) -> JSONOutput {
    [
      "id": .text(id), "app": .text(LocalStack.app),
      "streamer": ["id": .text(streamer), "name": "Aiko"],
      "stream": ["id": "b-991", "title": "Speedrun night", "category": "Games"],
      "template": "go-live",
      "occurred_at": .text(WallClock.rfc3339(occurredAt)), "expires_in": 900,
    ]
  }
}
