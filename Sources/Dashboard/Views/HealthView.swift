import JSON
import Record
import Text

/// Workers, statistics and what is wrong, as the page gets it.
struct HealthView {
  let health: HealthReader.Health
  let alerts: [Alert]
  let shares: ObstacleShares
  /// Since when each alert is there, in ms since 1970.
  let since: (String) -> Int64
  /// Ms since 1970.
  let now: Int64

  private static let numbers = [
    "partitions", "records_in_flight", "lag", "streams", "stream_limit", "connections",
    "rss_bytes", "clock_ahead_ms",
  ]
  private static let texts = ["version", "waits_for", "held_routes", "limits"]
  private static let totals = ["lag", "streams", "stream_limit", "connections"]

  var members: [(String, JSONValue)] {
    let shareRows = shareRows
    return [
      ("workers", .array(health.workers.map { json($0) })),
      ("totals", .object(JSONObject(Self.totals.map { ($0, .integer(total(of: $0))) }))),
      (
        "stats",
        .object(
          JSONObject([
            ("day", .object(JSONObject(day))), ("minute", .array(minutes)),
            ("window", .string("today, UTC; the last 60 minutes")),
          ]))
      ),
      ("platform_obstacles", .array(obstacles)),
      ("obstacle_shares", .array(shareRows)),
      ("obstacle_window_s", shareRows.isEmpty ? .null : .integer(shares.seconds)),
      ("records_lost", .integer(total(of: "records_lost"))),
      ("credentials", credentials),
      (
        "redis_memory",
        JSONValue(rounded: health.redisMemory.map { $0 * 100 })
      ),
      ("alerts", .array(alerts.map { json($0) })),
    ]
  }

  private func json(_ worker: HealthReader.Worker) -> JSONValue {
    var members: [(String, JSONValue)] = [("id", .string(worker.id))]
    let isSilent = worker.isSilent(at: now)
    let isReady =
      !isSilent && worker.text("waits_for").isEmpty && worker.number("partitions") ?? 0 > 0
    members.append(("ready", .bool(isReady)))
    members.append(("silent", .bool(isSilent)))
    // The heartbeat calls them `ready`.
    members.append(("pushes_ready", JSONValue(optional: worker.number("ready"))))
    members += Self.texts.map { ($0, .string(worker.text($0))) }
    members += Self.numbers.map { ($0, JSONValue(optional: worker.number($0))) }
    members.append(("beat_ms", .integer(worker.beatAt)))
    return .object(JSONObject(members))
  }

  /// By name, the age of those that a worker has used for longest; null where none says it.
  private var credentials: JSONValue {
    var oldest: [ExactText: Int64] = [:]
    for text in health.workers.flatMap({ $0.texts("credentials") }) {
      guard let end = text.lastIndex(of: " "), let since = Int64(text[end...].dropFirst())
      else { continue }
      let name = ExactText(String(text[..<end]))
      oldest[name] = min(oldest[name] ?? .max, since)
    }
    guard !oldest.isEmpty else { return .null }
    return .array(
      oldest.sorted { $0.key.text < $1.key.text }.map { name, since in
        .object(
          JSONObject([
            ("name", .string(name.text)), ("age_seconds", .integer(max(0, now - since) / 1000)),
          ]))
      })
  }

  private func total(of field: String) -> Int64 {
    health.workers.reduce(0) { $0 &+ max(0, $1.number(field) ?? 0) }
  }

  private var day: [(String, JSONValue)] {
    health.day.sorted { $0.key < $1.key }.compactMap { name, text in
      Int64(text).map { (name, .integer($0)) }
    }
  }

  private var minutes: [JSONValue] {
    health.minutes.map { minute in
      .object(
        JSONObject([
          ("ms", .integer(minute.at)), ("accepted", .integer(Int64(minute.accepted))),
          ("rejected", .integer(Int64(minute.rejected))),
          ("dead_letters", .integer(Int64(minute.deadLetters))),
        ]))
    }
  }

  private var obstacles: [JSONValue] {
    health.workers.flatMap { worker in
      Alert.Obstacle.all(of: worker).map { obstacle in
        .object(
          JSONObject([
            ("text", .string("worker \(worker.id): \(obstacle.text)")),
            ("since_ms", .integer(since("\(worker.id) \(obstacle.name)"))),
            ("runbook", .string(obstacle.runbook)),
          ]))
      }
    }
  }

  private var shareRows: [JSONValue] {
    shares.all.map { share in
      .object(
        JSONObject([
          ("obstacle", .string(share.obstacle)), ("percent", .integer(share.percent)),
        ]))
    }
  }

  private func json(_ alert: Alert) -> JSONValue {
    .object(
      JSONObject([
        ("name", .string(alert.name)), ("what", .string(alert.text)),
        ("since_ms", .integer(since(alert.name))),
        ("runbook", .string(alert.runbook)),
      ]))
  }
}
