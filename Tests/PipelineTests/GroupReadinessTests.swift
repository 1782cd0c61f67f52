import Fixtures
import Kafka
import Telemetry
import Testing
import Threads

@testable import Pipeline

/// Who is told that a worker has partitions, and that Kafka is away.
@Suite struct GroupReadinessTests {
  private let sink = MemorySink()
  private let calls = ThreadLock<[String]>([])

  private var options: PipelineOptions {
    var options = PumpBed.options(KafkaOptions(bootstrapServers: "127.0.0.1:1"), sink)
    options.whenReady = { [calls] in calls.withLock { $0.append("ready") } }
    options.whenUnready = { [calls] in calls.withLock { $0.append("unready") } }
    options.whenFailed = { [calls] _ in calls.withLock { $0.append("failed") } }
    return options
  }

  @Test func isToldOncePerChange() {
    let readiness = GroupReadiness(options: options)
    readiness.end()
    for _ in 0..<2 { readiness.begin() }
    for _ in 0..<2 { readiness.end() }
    readiness.begin()
    #expect(calls.withLock { $0 } == ["ready", "unready", "ready"])
  }

  @Test func saysNowAndThenThatItWaitsAndNotAtOnce() {
    let readiness = GroupReadiness(options: options)
    let second: UInt64 = 1_000_000_000
    func lines(after time: UInt64) -> Int {
      readiness.sayThatWeWait(now: time)
      return sink.lines.count
    }
    #expect(lines(after: second) == 0)
    #expect(lines(after: 5 * second) == 0)
    #expect(lines(after: 6 * second) == 1)
    #expect(lines(after: 7 * second) == 1)
    #expect(lines(after: 11 * second) == 2)
    #expect(sink.lines.allSatisfy { $0.contains("waiting for partitions") })
  }

  @Test func aBrokerThatIsAwayIsNamedUntilItIsBack() {
    let health = KafkaHealth(options: options)
    health.reaches(true)
    #expect(health.obstacle == nil && sink.lines.isEmpty)
    health.reaches(false)
    #expect(health.obstacle?.contains("127.0.0.1:1") == true)
    health.reaches(true)
    #expect(health.obstacle == nil && sink.lines.count == 2)
  }

  /// A worker that may not read sits idle: its obstacle is all that tells.
  @Test(arguments: [KafkaError.Code.authorization, .unknownTopic])
  func whatIsForbiddenIsToldUntilItWorks(_ code: KafkaError.Code) {
    let health = KafkaHealth(options: options)
    health.observe(.error(KafkaError(code: .unreachable, message: "away")))
    #expect(health.obstacle == nil)
    health.observe(.error(KafkaError(code: code, message: "not for us")))
    #expect(health.obstacle?.contains("not for us") == true)
    health.observe(.reachable(true))
    #expect(health.obstacle != nil)
    health.observe(.assigned([]))
    #expect(health.obstacle == nil && calls.withLock { $0 }.isEmpty)
  }

  @Test func onlyAFatalErrorEndsTheWorkerAndOnce() {
    let health = KafkaHealth(options: options)
    health.check(KafkaError(code: .unreachable, message: "away"))
    #expect(calls.withLock { $0 }.isEmpty)
    for _ in 0..<2 { health.check(KafkaError(code: .fatal, message: "fenced")) }
    #expect(calls.withLock { $0 } == ["failed"])
  }
}
