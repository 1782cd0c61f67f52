import Fixtures
import Testing
import Text

@testable import APNs
@testable import Deliver

/// Workers that have one key and never speak: what each of them shows Apple over days.
@Suite struct ProviderTokenTimesTests {
  private static let minute: Int64 = 60_000
  private static let midnight: Int64 = 1_700_006_400_000

  /// A worker as its clocks and Apple see it.
  private final class Worker {
    let source: ProviderTokenSource
    let start: Int64
    private let monotonic = ManualClock()
    private(set) var changes: [Int64] = []
    private(set) var current: ProviderToken?

    init(start: Int64, lifetime: Duration) {
      self.start = start
      let monotonic = monotonic
      source = ProviderTokenSource(
        key: ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { $0.reversed() },
        lifetime: lifetime,
        monotonic: { UInt64(monotonic.milliseconds.load(ordering: .relaxed)) * 1_000_000 })
    }

    func look(at now: Int64) throws {
      let token = try source.token(now: now)
      if token !== current { changes.append(now) }
      current = token
    }

    func advance(_ milliseconds: Int64) { monotonic.advance(milliseconds) }
  }

  @Test(arguments: [40, 41, 50, 59, 60]) func workersShareTokensWithoutAWord(minutes: Int) throws {
    var random = SplitMix64(seed: UInt64(minutes))
    let workers = (0..<12).map { _ in
      Worker(
        start: Self.midnight + Int64.random(in: 0..<1_440, using: &random) * Self.minute,
        lifetime: .seconds(60 * minutes))
    }
    for step in 0..<Int64(3 * 1_440) {
      let now = Self.midnight + step * Self.minute
      var texts: [Int64: Set<[UInt8]>] = [:]
      for worker in workers where worker.start <= now {
        try worker.look(at: now)
        worker.advance(Self.minute)
        let token = try #require(worker.current)
        #expect((0..<Int64(minutes)).contains((now - token.issuedAt) / Self.minute))
        texts[token.issuedAt, default: []].insert(Array(token.authorization.bytes))
      }
      // At most two at once, and one of a time is the same for all.
      #expect(texts.count <= 2 && texts.values.allSatisfy { $0.count == 1 })
    }
    for worker in workers {
      let pauses = zip(worker.changes, worker.changes.dropFirst()).map { $1 - $0 }
      #expect(pauses.allSatisfy { $0 >= 20 * Self.minute } && worker.changes.count > 20)
    }
  }

  @Test(arguments: [
    (Int64(0), Int64(0)), (1, 0), (1_799_999, 0), (1_800_000, 1_800_000), (-1, -1_800_000),
    (-1_800_000, -1_800_000),
  ])
  func issuesAtWholeIntervals(now: Int64, issue: Int64) {
    #expect(ProviderTokenTimes(lifetime: .seconds(3_000)).issueTime(at: now) == issue)
  }
}
