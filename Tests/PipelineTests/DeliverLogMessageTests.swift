import Fixtures
import Model
import Telemetry
import Testing
import Threads
import Transport

@testable import Deliver
@testable import Pipeline

/// What an operator reads of the connections to platforms.
@Suite struct DeliverLogMessageTests {
  private let sink = MemorySink()
  private let log: Log
  private static let endpoint = Endpoint(host: "localhost", port: 1)

  init() { log = Log(LogOptions(level: .debug, format: .json), sink: sink) }

  @Test func aPauseIsWrittenAsTheConfigurationWritesIt() {
    let server = PushServer(.production, Self.endpoint)
    log.deliver(.disconnected(server, reason: "refused", retryAfter: .seconds(0.17021484375)))
    #expect(sink.lines.count == 1)
    #expect(sink.lines.allSatisfy { $0.contains("\"retry_after\":\"170ms\"") })
  }

  private static func notices(_ destination: Destination) -> [DeliverNotice] {
    let server = PushServer(destination, endpoint)
    let obstacles = RouteObstacle.Kind.allCases.map {
      RouteObstacle(
        kind: $0, destination: destination, credentials: nil, topic: nil, reason: "r", since: 0)
    }
    return [
      .connected(server), .disconnected(server, reason: "r", retryAfter: .zero),
      .goingAway(server, reason: "r", retryAfter: .zero),
      .retired(server, reason: "r", retryAfter: .zero), .resized(server, connections: 2),
      .unanswered(server, pushes: 1), .lost(server, pushes: 1, reason: "r"),
      .configurationRejected(server, reason: .other),
      .unknownAnswer(server, UnknownAnswer(status: 418, reason: "")),
      .unknownAnswer(server, UnknownAnswer(status: 418, reason: "Teapot")),
    ] + obstacles.map { .obstacleBegan($0) }
  }

  @Test(arguments: [(Destination.production, "APNs"), (.fcm, "FCM"), (.webpush, "Web Push")])
  func eachLineNamesItsPlatformAndNoOther(destination: Destination, title: String) {
    let titles = ["APNs", "FCM", "Web Push", "Apple", "apns"]
    for notice in Self.notices(destination) {
      log.deliver(notice)
      let line = sink.lines.last ?? ""
      #expect(line.contains(title), "\(line)")
      if title != "APNs" {
        #expect(!titles.contains { $0 != title && line.contains($0) }, "\(line)")
      }
    }
    #expect(sink.lines.count >= 10)
  }

  /// Of many push services the obstacle says which.
  @Test func anObstacleNamesItsPushService() {
    log.deliver(
      .obstacleBegan(
        RouteObstacle(
          kind: .unreachable, destination: .webpush, credentials: "push.example", topic: nil,
          reason: "r", since: 0)))
    #expect(sink.lines.last?.contains(#""credentials":"push.example""#) == true, "\(sink.lines)")
  }
}

/// Which notices are logged again.
@Suite struct DeliverLogTests {
  private let sink = MemorySink()
  /// Nanoseconds.
  private final class Clock: Sendable { let now = ThreadLock<UInt64>(1) }

  private let clock: Clock
  private let notices: DeliverLog

  init() {
    var options = LogOptions(level: .debug, format: .json)
    options.repeatLimit = 0
    let clock = Clock()
    self.clock = clock
    notices = DeliverLog(Log(options, sink: sink)) { clock.now.withLock { $0 } }
  }

  private func server(_ host: String) -> PushServer {
    PushServer(.webpush, Endpoint(host: host, port: 443))
  }

  /// `unlogged` of the lines that were logged since this was asked last.
  private func unlogged(from start: Int) -> [String] {
    sink.lines.dropFirst(start).map { line in
      let rest = line.split(separator: #""unlogged":"#, maxSplits: 1).last ?? ""
      return String(rest.prefix { $0.isNumber })
    }
  }

  @Test func aRejectionIsLoggedOnceForAServerAndWindow() {
    for _ in 0..<5 {
      notices.report(.configurationRejected(server("a.example"), reason: .other))
      notices.report(
        .unknownAnswer(server("a.example"), UnknownAnswer(status: 405, reason: "")))
    }
    #expect(unlogged(from: 0) == ["0", "0"])
    notices.report(.configurationRejected(server("b.example"), reason: .other))
    notices.report(.configurationRejected(server("a.example"), reason: .unanswered))
    #expect(unlogged(from: 2) == ["0", "0"])
    clock.now.withLock { $0 += DeliverLog.window }
    notices.report(.configurationRejected(server("a.example"), reason: .other))
    #expect(unlogged(from: 4) == ["4"])
  }

  /// Clients may name any number of servers.
  @Test func serversBeyondTheBoundAreLoggedAsOne() {
    let most = DeliverLog.mostSubjects
    for number in 0..<(most + 9) {
      notices.report(.configurationRejected(server("s\(number).example"), reason: .other))
    }
    #expect(unlogged(from: 0).count == most + 1)
  }

  @Test func aFullTableMakesRoomWhenWindowsEnd() {
    for number in 0..<(DeliverLog.mostSubjects + 2) {
      notices.report(.configurationRejected(server("s\(number).example"), reason: .other))
    }
    let before = sink.lines.count
    clock.now.withLock { $0 += DeliverLog.window }
    for host in ["a.example", "b.example"] {
      notices.report(.configurationRejected(server(host), reason: .other))
    }
    #expect(unlogged(from: before) == ["0", "0"])
  }

  @Test func otherNoticesAreLoggedEachTime() {
    for _ in 0..<3 { notices.report(.unanswered(server("a.example"), pushes: 1)) }
    #expect(sink.lines.count == 3)
  }
}
