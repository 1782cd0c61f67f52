/// The faults that this process can see. Pure.
struct Alert: Equatable {
  /// Its subject, in a word that stays the same while it lasts.
  let name: String
  /// In words, with numbers that may change.
  let text: String
  /// Where to read on.
  let runbook: String

  private init(_ name: String, _ text: String, _ runbook: String) {
    self.name = name
    self.text = text
    self.runbook = runbook
  }

  /// Longer without a heartbeat, and a worker counts as dead: it beats each 10 s.
  static let deadAfter: Int64 = 15_000
  /// So many records that are not committed are worth an alert.
  static let bearableLag: Int64 = 1_000
  private static let recentMinutes = 10

  private static let redis = "docs/operations.md#faults-of-redis"
  private static let kafka = "docs/operations.md#faults-of-kafka"
  private static let apple = "docs/operations.md#faults-of-apples-service"
  private static let workers = "docs/operations.md#faults-of-workers-clocks-and-templates"
  private static let lost = "docs/operations.md#records-that-kafka-deleted"
  private static let refused = "docs/operations.md#credentials-that-apple-refuses"
  private static let clocks = "docs/operations.md#clocks-that-differ"
  private static let templates = "docs/operations.md#unknown-templates"

  /// - Parameters:
  ///   - trouble: why Redis could not be read.
  ///   - now: ms since 1970.
  static func all(
    of health: HealthReader.Health, trouble: String?, samples: [TemplateSample]?, now: Int64
  ) -> [Alert] {
    var alerts: [Alert] = []
    if let trouble { alerts.append(Alert("redis", trouble, redis)) }
    if let memory = health.redisMemory, memory >= 1 {
      alerts.append(Alert("redis memory", "Redis' memory is full: it refuses writes", redis))
    }
    if health.workers.isEmpty, trouble == nil {
      alerts.append(
        Alert("no worker", "no worker has sent a heartbeat for an hour", workers))
    }
    for worker in health.workers { alerts += all(of: worker, now: now) }
    let lag = health.workers.reduce(0) { $0 &+ max(0, $1.number("lag") ?? 0) }
    if lag >= bearableLag { alerts.append(Alert("lag", "\(lag) records wait in Kafka", kafka)) }
    let letters = health.minutes.suffix(recentMinutes).reduce(0) { $0 &+ $1.deadLetters }
    if letters > 0 {
      let text = "\(letters) records went to the dead letters in the last 10 minutes"
      alerts.append(Alert("dead letters", text, kafka))
    }
    for sample in samples ?? [] {
      guard let trouble = sample.trouble else { continue }
      let name = "template \(sample.name)"
      alerts.append(Alert(name, "the \(name): \(trouble)", templates))
    }
    return alerts
  }

  private static func all(of worker: HealthReader.Worker, now: Int64) -> [Alert] {
    var alerts: [Alert] = []
    let id = worker.id
    let silence = now - worker.beatAt
    if silence > deadAfter {
      let text = "worker \(id) has sent no heartbeat for \(silence / 1000) s"
      alerts.append(Alert("worker \(id)", text, workers))
    }
    let waits = worker.text("waits_for")
    if !waits.isEmpty {
      alerts.append(Alert("\(id) waits", "worker \(id) waits: \(waits)", runbook(of: waits)))
    }
    for obstacle in Obstacle.all(of: worker) {
      alerts.append(
        Alert("\(id) \(obstacle.name)", "worker \(id): \(obstacle.text)", obstacle.runbook))
    }
    if let records = worker.number("records_lost"), records > 0 {
      let text = "Kafka deleted \(records) records before worker \(id) had read them"
      alerts.append(Alert("\(id) lost", text, lost))
    }
    if let ahead = worker.number("clock_ahead_ms"), ahead.magnitude >= 5_000 {
      let text =
        "the clock of worker \(id) is \(ahead.magnitude / 1000) s "
        + (ahead > 0 ? "ahead of" : "behind") + " Redis'"
      alerts.append(Alert("\(id) clock", text, clocks))
    }
    return alerts
  }

  private static func runbook(of waits: String) -> String {
    let words = waits.lowercased()
    for (word, runbook) in [("template", templates), ("clock", clocks), ("kafka", kafka)] {
      if words.contains(word) { return runbook }
    }
    return words.contains("redis") ? redis : kafka
  }

  /// The obstacle before a push service, as a worker says it: `<environment>: unreachable (…)`.
  struct Obstacle: Equatable {
    let text: String
    /// Without what changes while it lasts.
    var name: String { text.split(separator: "(").first.map(String.init) ?? text }
    var runbook: String {
      [": unreachable", ": slow"].contains { text.contains($0) } ? Alert.apple : Alert.refused
    }

    /// Workers join them so.
    static func all(of worker: HealthReader.Worker) -> [Obstacle] {
      worker.text("held_routes").split(separator: "; ").map { Obstacle(text: String($0)) }
    }
  }
}
