/// Every key there is, once: reading, defaults, validation, the example file and the explanations
/// come from it.
package enum SettingTable {
  /// In the order of the example file; the keys of a group stand together.
  package static let keys: [SettingKey] =
    kafka + redis + audience + rules + templates + apns + lanes + events + devices + limits + worker
    + api
    + probes + log

  package static func key(_ path: String) -> SettingKey? {
    keyIndexes[path].map { keys[$0] }
  }

  /// `kafka`, `kafka.topics`, …: every path that is a mapping of keys, not a key.
  static let groups: Set<String> = Set(keys.flatMap { groups(above: $0.path) })

  /// A sentence that introduces a group.
  static let groupExplanations: [String: String] = [
    "kafka": "Where events come from, and where the segments of large ones travel.",
    "redis": "Who follows whom, on which devices, and what dashboards read.",
    "audience": "How followers are read.",
    "rules": "Whom an event may reach. What is off costs nothing.",
    "templates": "What the pushes say.",
    "apns": "Apple's push service, or whatever stands for it.",
    "lanes": "Threads: a lane owns its connections, timers and buffers and shares nothing.",
    "events": "How long news stays news.",
    "devices": "When devices that Apple calls gone are removed.",
    "limits": "How much is sent in a second, by all workers together, whatever Apple takes.",
    "worker": "This process, as others see it.",
    "api": "What backends ask of `fanfare api`, over HTTP.",
    "probes": "Whether this process lives and is ready, and what it measures, over HTTP.",
    "log": "Lines on standard error.",
  ]

  /// For the sections: `minutes(50)`.
  static func minutes(_ count: Int) -> Duration { .seconds(count * 60) }

  private static let keyIndexes: [String: Int] = Dictionary(
    uniqueKeysWithValues: keys.enumerated().map { ($1.path, $0) })

  private static func groups(above path: String) -> [String] {
    let parts = path.split(separator: ".")
    return (1..<parts.count).map { parts[..<$0].joined(separator: ".") }
  }
}
