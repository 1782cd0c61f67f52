import Testing
import Transport

@testable import Redis

/// How far behind replicas may be, from what their master said and when it was asked.
@Suite struct ReplicaLagTests {
  private static let second: UInt64 = 1_000_000_000
  private let one = Endpoint(host: "one", port: 1)
  private let two = Endpoint(host: "two", port: 2)

  private func report(
    _ offset: Int64, history: String = "h", one: Int64? = nil, two: Int64? = nil
  ) throws -> ReplicationReport {
    let replicas = [one.map { ("one", 1, $0) }, two.map { ("two", 2, $0) }].compactMap { $0 }
    return try ReplicationReport.sample(.master, history, offset, replicas)
  }

  @Test func whoHasWhatTheMasterHadLacksNothingOlder() throws {
    var lag = ReplicaLag(limit: .seconds(5))
    #expect(lag.isEmpty && lag.lag(at: 100, now: 0) == nil && lag.fresh(now: 0) == [])
    lag.take(try report(100, one: 90, two: 100), askedAt: 1 * Self.second)
    lag.take(try report(200, one: 150, two: 99), askedAt: 2 * Self.second)
    lag.take(try report(300, one: 200, two: 99), askedAt: 3 * Self.second)
    let now = 4 * Self.second
    #expect(lag.lag(at: 300, now: now) == .seconds(1))
    #expect(lag.lag(at: 299, now: now) == .seconds(2))
    #expect(lag.lag(at: 200, now: now) == .seconds(2))
    #expect(lag.lag(at: 100, now: now) == .seconds(3))
    #expect(lag.lag(at: 99, now: now) == nil)
    // What is further behind than we remember is at least as far as that.
    #expect(lag.shownLag(at: 99, now: now) == .seconds(3))
    #expect(lag.fresh(now: now) == [one])
    // The limit itself is near enough.
    #expect(lag.fresh(now: 7 * Self.second) == [one])
    #expect(lag.fresh(now: 7 * Self.second + 1) == [])
  }

  @Test func whileNothingIsWrittenTheLastAnswerCounts() throws {
    var lag = ReplicaLag(limit: .seconds(5))
    for time in 1...20 {
      lag.take(try report(100, one: 100, two: 99), askedAt: UInt64(time) * Self.second)
    }
    let now = 21 * Self.second
    #expect(lag.lag(at: 100, now: now) == .seconds(1))
    #expect(lag.lag(at: 99, now: now) == nil)
    #expect(lag.fresh(now: now) == [one])
  }

  @Test func anotherHistoryBeginsAgain() throws {
    var lag = ReplicaLag(limit: .seconds(5))
    lag.take(try report(500, one: 500), askedAt: 1 * Self.second)
    // A fail-over: what the new master counts has nothing to do with it.
    lag.take(try report(600, history: "other", one: 550), askedAt: 2 * Self.second)
    #expect(lag.history == "other")
    #expect(lag.lag(at: 550, now: 3 * Self.second) == nil)
    #expect(lag.fresh(now: 3 * Self.second) == [])
    // It counts backwards: another process with the same name for its history.
    lag.take(try report(10, history: "other", one: 9), askedAt: 3 * Self.second)
    #expect(lag.lag(at: 9, now: 4 * Self.second) == nil)
    #expect(lag.lag(at: 10, now: 4 * Self.second) == .seconds(1))
  }

  @Test func whatIsNoMasterHasNoReplicas() throws {
    var lag = ReplicaLag(limit: .seconds(5))
    lag.take(try report(500, one: 500), askedAt: 1 * Self.second)
    lag.take(try .sample(.replica(isLinked: true), "h", 500, []), askedAt: 2 * Self.second)
    #expect(lag.isEmpty && lag.replicas.isEmpty && lag.history == nil)
    #expect(lag.shownLag(at: 500, now: 3 * Self.second) == .zero)
    lag.take(try report(500, one: 500), askedAt: 4 * Self.second)
    #expect(lag.fresh(now: 5 * Self.second) == [one])
    lag.forget()
    #expect(lag.fresh(now: 5 * Self.second) == [])
  }

  @Test func whoIsNotNamedAnyMoreIsLeft() throws {
    var lag = ReplicaLag(limit: .seconds(5))
    lag.take(try report(100, one: 100, two: 100), askedAt: 1)
    #expect(lag.fresh(now: 2) == [one, two])
    lag.take(try report(100, two: 100), askedAt: 3)
    #expect(lag.fresh(now: 4) == [two])
  }

  @Test func itKeepsSoManyAnswersAndReplicasAndNoMore() throws {
    var lag = ReplicaLag(limit: .seconds(60))
    let many = (1...40).map { ("r\($0)", $0, Int64(1)) }
    for time in 1...1_000 {
      lag.take(try .sample(.master, "h", Int64(time), many), askedAt: UInt64(time))
    }
    #expect(lag.replicas.count == ReplicaLag.maximumReplicas)
    #expect(lag.lag(at: 872, now: 1_000) == nil)
    #expect(lag.lag(at: 873, now: 1_000) == .nanoseconds(127))
  }
}

extension ReplicationReport {
  /// As a server that says it would.
  fileprivate static func sample(
    _ role: Role, _ history: String, _ offset: Int64, _ replicas: [(String, Int, Int64)]
  ) throws -> ReplicationReport {
    var lines = ["master_replid:\(history)", "connected_slaves:\(replicas.count)"]
    lines += role == .master ? ["role:master", "master_repl_offset:\(offset)"] : []
    if role != .master {
      lines += ["role:slave", "master_link_status:up", "master_sync_in_progress:0"]
      lines += ["slave_repl_offset:\(offset)"]
    }
    lines += replicas.enumerated().map {
      "slave\($0):ip=\($1.0),port=\($1.1),state=online,offset=\($1.2),lag=0"
    }
    return try #require(ReplicationReport(information(lines)))
  }
}

/// The reply to an INFO that has these lines.
func information(_ lines: [String]) throws -> RedisReply {
  let text = lines.joined(separator: "\r\n")
  return try replies("$\(text.utf8.count)\r\n\(text)\r\n", 1)[0]
}
