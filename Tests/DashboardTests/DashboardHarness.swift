import Dashboard
import Fixtures
import JSON
import Keyspace
import Redis
import Testing
import Text
import Threads

@testable import HTTPServer

/// A dashboard over a Redis of its own, whose clock the test sets.
final class DashboardHarness: Sendable {
  static let start: Int64 = 1_795_248_000_000
  let redis: RedisFixture
  let dashboard: Dashboard
  let keyspace = Keyspace()
  private let clock = ThreadLock(DashboardHarness.start)

  static func run(
    isDurable: Bool = false, _ change: (inout DashboardOptions) -> Void = { _ in },
    _ body: (DashboardHarness) async throws -> Void
  ) async throws {
    let harness = try await DashboardHarness(isDurable: isDurable, change)
    do {
      try await body(harness)
    } catch {
      await harness.close()
      throw error
    }
    await harness.close()
  }

  private init(isDurable: Bool, _ change: (inout DashboardOptions) -> Void) async throws {
    redis = try RedisFixture(isDurable: isDurable)
    var redisOptions = RedisOptions(port: redis.server.port)
    redisOptions.reconnectMinimum = .milliseconds(5)
    redisOptions.reconnectMaximum = .milliseconds(20)
    var options = DashboardOptions(
      redis: redisOptions, keyspace: keyspace, mode: .api, version: "1.2.3", needsKey: true,
      advice: { reason, platform in "mend \(reason) of \(platform ?? "ours")" },
      wallClock: { [clock] in clock.withLock { $0 } })
    options.refreshInterval = .milliseconds(20)
    change(&options)
    dashboard = Dashboard(options)
    await dashboard.start()
  }

  private func close() async {
    await dashboard.close()
    dashboard.end()
  }

  var now: Int64 { clock.withLock { $0 } }
  func pass(_ milliseconds: Int64) { clock.withLock { $0 += milliseconds } }

  func write(_ commands: [String]...) async throws {
    try await redis.run { client async throws in
      for command in commands {
        let replies = try await client.execute(RedisPipeline(command))
        if let error = replies[0].error { throw error }
      }
    }
  }

  /// Enters a fan-out as workers do.
  func enter(_ event: String, _ fields: [String: String]) async throws {
    try await write(
      ["XADD", keyspace.statsFanOuts, "*", "event", event],
      ["HSET", keyspace.event(id: event)] + fields.flatMap { [$0.key, $0.value] })
  }

  func set(_ event: String, _ fields: [String: String]) async throws {
    try await write(["HSET", keyspace.event(id: event)] + fields.flatMap { [$0.key, $0.value] })
  }

  /// A view as the next refresh finds it.
  func look(at view: DashboardView) async throws -> JSONObject {
    // What was read before does not count.
    let before = await dashboard.metrics.refreshes
    while true {
      let answer = await dashboard.look(at: view)
      if await dashboard.metrics.refreshes > before {
        guard case .state(let bytes) = answer else { throw Unexpected(answer: answer) }
        return try #require(try JSONValue.parse(bytes).object)
      }
      await Task.yield()
    }
  }

  struct Unexpected: Error { let answer: DashboardAnswer }

  /// The next state that a stream sends.
  func next(of stream: HTTPStateStream) async throws -> JSONObject {
    while true {
      if case .state(let bytes) = stream.take() {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "event: state" && lines.count == 2)
        let data = try #require(lines.last?.dropFirst("data: ".count))
        return try #require(try JSONValue.parse(Array(data.utf8)).object)
      }
      await Task.yield()
    }
  }

  func open(_ view: DashboardView) async throws -> HTTPStateStream {
    guard case .state(let state) = await dashboard.look(at: view) else {
      throw Unexpected(answer: .unknown)
    }
    return await dashboard.open(view, from: state)
  }
}

extension JSONObject {
  func rows(_ name: String) -> [JSONObject] { self[name]?.array?.compactMap(\.object) ?? [] }
  func text(_ name: String) -> String? { self[name]?.string }
  func number(_ name: String) -> Int64? { self[name]?.integer }
}
