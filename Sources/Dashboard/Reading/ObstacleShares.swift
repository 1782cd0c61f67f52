import Text

/// The share of the workers' time in which each class of obstacles stood, within the last minute
/// that somebody has looked. By what the workers' last heartbeats say. Pure.
struct ObstacleShares {
  struct Share: Equatable {
    let obstacle: String
    /// Of the time of all workers; at least 1.
    let percent: Int64
  }

  private struct Sample {
    /// Ms since 1970.
    let at: Int64
    /// Since the sample before.
    let milliseconds: Int64
    let workers: Int
    /// Workers before which the obstacle stood.
    let counts: [ExactText: Int]
  }

  private static let window: Int64 = 60_000
  /// Within a longer pause between two samples nobody has looked.
  private static let longestPause: Int64 = 3_000
  /// The page gets a new state when a number changes, so the time grows in steps.
  private static let step: Int64 = 10_000
  /// The names of environments come from Redis.
  private static let mostShares = 20

  private var samples: [Sample] = []
  private var lastAt: Int64?

  /// - Parameters:
  ///   - workers: the obstacles of each that lives, by class.
  ///   - now: ms since 1970.
  mutating func add(_ workers: [Set<ExactText>], at now: Int64) {
    defer { lastAt = now }
    samples.removeAll { $0.at > now || $0.at <= now - Self.window }
    guard let lastAt, 1...Self.longestPause ~= now - lastAt else { return }
    var counts: [ExactText: Int] = [:]
    for worker in workers { for name in worker { counts[name, default: 0] += 1 } }
    samples.append(
      Sample(at: now, milliseconds: now - lastAt, workers: workers.count, counts: counts))
  }

  /// The largest first.
  var all: [Share] {
    let whole = samples.reduce(0) { $0 + $1.milliseconds * Int64($1.workers) }
    guard whole > 0 else { return [] }
    var times: [ExactText: Int64] = [:]
    for sample in samples {
      for (name, count) in sample.counts {
        times[name, default: 0] += sample.milliseconds * Int64(count)
      }
    }
    let shares = times.map { name, time in
      let percent = (100 * Double(time) / Double(whole)).rounded()
      return Share(obstacle: name.text, percent: max(1, Int64(percent)))
    }
    return Array(
      shares.sorted { ($1.percent, $0.obstacle) < ($0.percent, $1.obstacle) }
        .prefix(Self.mostShares))
  }

  /// The time that the shares are of, in seconds: watched time, rounded up to ten seconds; at
  /// most 60.
  var seconds: Int64 {
    let watched = samples.reduce(0) { $0 + $1.milliseconds }
    let steps = (watched + Self.step - 1) / Self.step
    return min(Self.window, steps * Self.step) / 1000
  }

  /// The classes of obstacles that a heartbeat names: `Redis`, `production: slow`.
  static func classes(of worker: HealthReader.Worker) -> Set<ExactText> {
    var classes: Set<ExactText> = []
    for wait in worker.texts("waits_for") {
      classes.insert(ExactText(dependency(wait.lowercased())))
    }
    for route in worker.texts("held_routes") {
      let name = route.prefix { $0 != " " && $0 != ":" }
      let kind = ["unreachable", "slow"].first { route.contains(": \($0)") } ?? "credentials"
      classes.insert(ExactText("\(name): \(kind)"))
    }
    if !worker.text("limits").isEmpty { classes.insert("limits of pushes a second") }
    return classes
  }

  private static func dependency(_ words: String) -> String {
    for (word, name) in [
      ("dead letter", "dead letters"), ("template", "templates"), ("clock", "clocks"),
      ("kafka", "Kafka"), ("redis", "Redis"),
    ] where words.contains(word) { return name }
    return "other dependencies"
  }
}
