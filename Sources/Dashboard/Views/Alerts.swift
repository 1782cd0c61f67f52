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

  /// So many records that are not committed are worth an alert.
  static let bearableLag: Int64 = 1_000
  private static let recentMinutes = 10

  /// Rows and headings of docs/operations.md.
  private enum Runbook {
    static let redisDown = page("redis-is-down")
    static let redisReadOnly = page("redis-is-a-replica")
    static let redisFull = page("redis-memory-is-full")
    static let redis = page("faults-of-redis")
    static let kafkaDown = page("kafka-is-down")
    static let kafka = page("faults-of-kafka")
    static let lag = page("records-wait-in-kafka")
    static let deadLetters = page("a-record-cannot-be-decoded")
    static let deadLettersRefused = page("dead-letters-are-refused")
    static let recordsLost = page("records-that-kafka-deleted")
    static let appleSilent = page("apple-answers-nothing")
    static let apple = page("faults-of-apples-service")
    static let credentials = page("credentials-that-apple-refuses")
    static let workerDead = page("a-worker-dies")
    static let clocks = page("clocks-that-differ")
    static let templateBroken = page("a-changed-template-has-a-mistake")
    static let templateUnknown = page("unknown-templates")

    private static func page(_ anchor: String) -> String { "docs/operations.md#" + anchor }
  }

  /// - Parameters:
  ///   - trouble: why Redis could not be read.
  ///   - now: ms since 1970.
  static func all(
    of health: HealthReader.Health, trouble: String?, samples: [TemplateSample]?, now: Int64
  ) -> [Alert] {
    var alerts: [Alert] = []
    if let trouble {
      alerts.append(Alert("redis", trouble, runbook(ofTrouble: trouble)))
    }
    if let memory = health.redisMemory, memory >= 1 {
      alerts.append(
        Alert("redis memory", "Redis' memory is full: it refuses writes", Runbook.redisFull))
    }
    if health.workers.isEmpty, trouble == nil {
      alerts.append(
        Alert("no worker", "no worker has sent a heartbeat for an hour", Runbook.workerDead))
    }
    for worker in health.workers {
      // Of a Redis that cannot be read the last heartbeats are old, whoever lives.
      if trouble == nil { alerts += silence(of: worker, now: now) }
      alerts += all(of: worker)
    }
    let lag = health.workers.reduce(0) { $0 &+ max(0, $1.number("lag") ?? 0) }
    if lag >= bearableLag {
      alerts.append(Alert("lag", "\(lag) records wait in Kafka", Runbook.lag))
    }
    let letters = health.minutes.suffix(recentMinutes).reduce(0) { $0 &+ $1.deadLetters }
    if letters > 0 {
      let text = "\(letters) records went to the dead letters in the last 10 minutes"
      alerts.append(Alert("dead letters", text, Runbook.deadLetters))
    }
    for sample in samples ?? [] {
      guard let trouble = sample.trouble else { continue }
      let name = "template \(sample.name)"
      alerts.append(Alert(name, "the \(name): \(trouble)", Runbook.templateBroken))
    }
    return alerts
  }

  private static func silence(of worker: HealthReader.Worker, now: Int64) -> [Alert] {
    guard worker.isSilent(at: now) else { return [] }
    let seconds = (now - worker.beatAt) / 1000
    let text = "worker \(worker.id) has sent no heartbeat for \(seconds) s"
    return [Alert("worker \(worker.id)", text, Runbook.workerDead)]
  }

  private static func all(of worker: HealthReader.Worker) -> [Alert] {
    var alerts: [Alert] = []
    let id = worker.id
    let waits = worker.text("waits_for")
    if !waits.isEmpty {
      alerts.append(Alert("\(id) waits", "worker \(id) waits: \(waits)", runbook(ofWaits: waits)))
    }
    for obstacle in Obstacle.all(of: worker) {
      alerts.append(
        Alert("\(id) \(obstacle.name)", "worker \(id): \(obstacle.text)", obstacle.runbook))
    }
    if let records = worker.number("records_lost"), records > 0 {
      let text = "Kafka deleted \(records) records before worker \(id) had read them"
      alerts.append(Alert("\(id) lost", text, Runbook.recordsLost))
    }
    if let since = worker.number("templates_refused_ms"), since > 0 {
      let text = "worker \(id) keeps its old templates: those on disk have a mistake"
      alerts.append(Alert("\(id) templates", text, Runbook.templateBroken))
    }
    if let ahead = worker.number("clock_ahead_ms"), ahead.magnitude >= 5_000 {
      let text =
        "the clock of worker \(id) is \(ahead.magnitude / 1000) s "
        + (ahead > 0 ? "ahead of" : "behind") + " Redis'"
      alerts.append(Alert("\(id) clock", text, Runbook.clocks))
    }
    return alerts
  }

  private static func runbook(ofTrouble trouble: String) -> String {
    if trouble.contains("is a replica") { return Runbook.redisReadOnly }
    return trouble.hasPrefix("Redis refuses us") ? Runbook.redis : Runbook.redisDown
  }

  private static func runbook(ofWaits waits: String) -> String {
    let words = waits.lowercased()
    let known = [
      ("dead letters", Runbook.deadLettersRefused), ("template", Runbook.templateUnknown),
      ("clock", Runbook.clocks), ("no broker", Runbook.kafkaDown), ("kafka", Runbook.kafka),
      ("is a replica", Runbook.redisReadOnly), ("redis", Runbook.redis),
    ]
    return known.first { words.contains($0.0) }?.1 ?? Runbook.kafka
  }

  /// The obstacle before a push service, as a worker says it: `<environment>: unreachable (…)`.
  struct Obstacle: Equatable {
    let text: String
    /// Without what changes while it lasts.
    var name: String { text.split(separator: "(").first.map(String.init) ?? text }
    var runbook: String {
      if text.contains(": unreachable") { return Runbook.appleSilent }
      return text.contains(": slow") ? Runbook.apple : Runbook.credentials
    }

    /// Workers join them so.
    static func all(of worker: HealthReader.Worker) -> [Obstacle] {
      worker.texts("held_routes").map { Obstacle(text: $0) }
    }
  }
}
