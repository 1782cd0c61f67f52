import Model
import Testing
import Threads

@testable import Deliver

@Suite struct RouteObstaclesTests {
  private final class Told: Sendable {
    let notices = ThreadLock<[DeliverNotice]>([])
    func take() -> [String] {
      let taken = notices.withLock { notices in
        defer { notices = [] }
        return notices
      }
      return taken.map {
        switch $0 {
        case .obstacleBegan(let obstacle): "+\(obstacle)"
        case .obstacleEnded(let obstacle): "-\(obstacle)"
        default: "\($0)"
        }
      }
    }
  }

  private let told = Told()
  private let queue = FairQueue(route: 1)
  private let obstacles: RouteObstacles

  init() {
    let told = told
    let options = DeliverOptions(
      wallClock: { 7 }, report: { notice in told.notices.withLock { $0.append(notice) } })
    obstacles = RouteObstacles(destination: .sandbox, options: options, queue: queue)
  }

  @Test func aClosureIsToldOnceAndWithItsFirstReason() {
    obstacles.set(closure: nil, reason: "nothing")
    #expect(told.take() == [] && obstacles.all == [])
    obstacles.set(closure: .unreachable, reason: "timed out")
    obstacles.set(closure: .unreachable, reason: "refused")
    #expect(told.take() == ["+sandbox: unreachable (timed out)"])
    #expect(obstacles.all.map(\.since) == [7])
    obstacles.set(closure: nil, reason: "")
    #expect(told.take() == ["-sandbox: unreachable (refused)"] && obstacles.all == [])
  }

  /// The first is often "connecting", which tells an operator nothing.
  @Test func aClosureIsShownWithItsLatestReason() {
    obstacles.set(closure: .unreachable, reason: "connecting")
    obstacles.set(closure: .unreachable, reason: "the proxy gave no way")
    #expect(obstacles.all.map(\.reason) == ["the proxy gave no way"])
    #expect(obstacles.obstacle(for: "a")?.reason == "the proxy gave no way")
    #expect(told.take() == ["+sandbox: unreachable (connecting)"])
  }

  /// One closure follows another: nobody is told between them that pushes can be sent again.
  @Test func aClosureThatTakesAnothersPlaceIsNoEnd() {
    obstacles.set(closure: .unreachable, reason: "timed out")
    obstacles.set(closure: .noToken, reason: "no key")
    #expect(
      told.take() == [
        "+sandbox: unreachable (timed out)", "+sandbox: no credentials (no key)",
      ])
    obstacles.set(closure: nil, reason: "no key")
    #expect(told.take() == ["-sandbox: no credentials (no key)"] && obstacles.all == [])
  }

  @Test func slownessIsToldWhenItBeginsAndEnds() {
    obstacles.set(isSlow: false)
    obstacles.set(isSlow: true)
    obstacles.set(isSlow: true)
    let words = "sandbox: slow (pushes come faster than it takes them)"
    #expect(told.take() == ["+" + words] && obstacles.all.map(\.kind) == [.slow])
    obstacles.set(isSlow: false)
    #expect(told.take() == ["-" + words] && obstacles.all == [])
  }

  @Test func refusedCredentialsAreTheirTopics() {
    let topic = queue.topic(named: "a")
    obstacles.noLongerRefused(topic)
    obstacles.refused(topic, reason: "first")
    obstacles.refused(topic, reason: "second")
    #expect(told.take() == ["+sandbox a: first"])
    #expect(obstacles.obstacle(for: "b") == nil && obstacles.obstacle(for: "a") != nil)
    obstacles.noLongerRefused(topic)
    #expect(told.take() == ["-sandbox a: first"] && obstacles.all == [])
  }

  /// Nothing at all goes; then what is wrong with the topic; then what is slow.
  @Test func aPushIsToldWhatIsInItsWayMost() {
    obstacles.set(isSlow: true)
    #expect(obstacles.obstacle(for: "a")?.kind == .slow)
    obstacles.refused(queue.topic(named: "a"), reason: "first")
    #expect(obstacles.obstacle(for: "a")?.kind == .credentialsRefused)
    #expect(obstacles.obstacle(for: "b")?.kind == .slow)
    obstacles.set(closure: .unreachable, reason: "timed out")
    #expect(obstacles.obstacle(for: "a")?.kind == .unreachable)
    #expect(obstacles.all.map(\.kind) == [.unreachable, .slow, .credentialsRefused])
  }
}
