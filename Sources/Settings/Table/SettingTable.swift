/// Every key there is, once: reading, defaults, validation, the example file and the explanations
/// come from it.
package enum SettingTable {
  /// In the order of the example file; the keys of a group stand together.
  package static let keys: [SettingKey] =
    kafka + redis + audience + rules + templates + apns + fcm + webpush + lanes + events + outcomes
    + traces + devices
    + limits
    + worker
    + api
    + probes + log

  package static func key(_ path: String) -> SettingKey? {
    keyIndexes[path].map { keys[$0] }
  }

  /// `kafka`, `kafka.topics`, …: every path that is a mapping of keys, not a key.
  package static let groups: Set<String> = Set(keys.flatMap { groups(above: $0.path) })

  /// A sentence that introduces a group.
  package static let groupExplanations: [String: String] = [
    "kafka": "Where events come from, and where segments of large events are queued.",
    "redis": "Where followers, devices and counters for dashboards are stored.",
    "audience": "How followers are read.",
    "rules": "Who may get an event. A rule that is off costs nothing.",
    "templates": "The texts of the pushes.",
    "apns": "Apple's push service, or a server in its place.",
    "fcm": "Firebase Cloud Messaging, for Android.",
    "webpush": "Web Push, for browsers.",
    "lanes": "The worker's threads. A lane owns its connections, timers and buffers, and shares "
      + "nothing.",
    "events": "How long events live, and what is kept of them.",
    "outcomes": "What is written to kafka.topics.outcomes, for the backend's own analytics.",
    "traces": "Spans of traces (OpenTelemetry), for a collector.",
    "devices": "When devices that Apple reports as gone are removed.",
    "limits": "How many pushes all workers together send in a second at most.",
    "worker": "The name and the heartbeat of this process.",
    "api": "The HTTP server of `fanfare api`, for backends.",
    "probes": "Health checks and metrics of this process, over HTTP.",
    "log": "The log on standard error.",
  ]

  /// The key that each process makes up where it is not set.
  static let workerID = "worker.id"

  /// `did you mean redis.host?`, for the name of a key or group that does not exist; nil when none
  /// is near.
  package static func hint(for name: String) -> String? {
    NearestName.hint(for: name, among: keys.map(\.path) + groups.sorted())
  }

  /// For the sections: `minutes(50)`.
  static func minutes(_ count: Int) -> Duration { .seconds(count * 60) }

  private static let keyIndexes: [String: Int] = Dictionary(
    uniqueKeysWithValues: keys.enumerated().map { ($1.path, $0) })

  private static func groups(above path: String) -> [String] {
    let parts = path.split(separator: ".")
    return (1..<parts.count).map { parts[..<$0].joined(separator: ".") }
  }
}
