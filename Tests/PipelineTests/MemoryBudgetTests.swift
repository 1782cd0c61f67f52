import Deliver
import Expand
import Ingest
import Kafka
import Model
import Testing

@testable import Pipeline

@Suite struct MemoryBudgetTests {
  private func budget(
    lanes: Int = 2, limits: LaneLimits = LaneLimits(), streams: Int = 500,
    probeBytes: Int = 0
  ) -> MemoryBudget {
    let environments = 2
    return MemoryBudget(
      lanes: lanes, limits: limits, ingest: IngestOptions(), expand: ExpandOptions(),
      connectionBytes: environments
        * DeliverOptions.maximumConnectionBytes(connections: 4, streams: streams),
      kafka: KafkaOptions(bootstrapServers: ""), probeBytes: probeBytes)
  }

  @Test func lanesAddUpAndTheProcessCountsOnce() {
    let one = budget(lanes: 1)
    let four = budget(lanes: 4)
    #expect(four.bytes - one.bytes == 3 * one.laneBytes)
    #expect(one.bytes - one.laneBytes == one.process.reduce(0) { $0 + $1.bytes })
  }

  @Test func eachLimitCounts() {
    let usual = budget().bytes
    let changes: [(inout LaneLimits) -> Void] = [
      { $0.segments += 1 }, { $0.events += 1 }, { $0.stragglers += 1 },
      { $0.awaitingBytes *= 2 }, { $0.batchBytes *= 2 }, { $0.batchPushes *= 2 },
    ]
    for change in changes {
      var limits = LaneLimits()
      change(&limits)
      #expect(budget(limits: limits).bytes > usual)
    }
    #expect(budget(streams: 1000).bytes > usual)
    #expect(budget(probeBytes: 1000).bytes == usual + 1000)
  }

  @Test func outcomesOfPushesCountWhereTheyArePublished() {
    let limits = LaneLimits()
    func bytes(_ publishes: Bool) -> Int {
      MemoryBudget(
        lanes: 1, limits: limits, ingest: IngestOptions(), expand: ExpandOptions(),
        connectionBytes: 0, kafka: KafkaOptions(bootstrapServers: ""), probeBytes: 0,
        publishesOutcomes: publishes
      ).bytes
    }
    let least = limits.slots * OutcomeReports.maximumBytes(pushes: 32 * limits.batchPushes)
    #expect(bytes(true) - bytes(false) >= least)
  }

  /// A container of a gibibyte is enough for two cores as they come.
  @Test func theDefaultsFitIntoAGibibyteOnTwoCores() { #expect(budget().bytes < 1 << 30) }

  @Test func itSaysItsPartsInMegabytes() {
    let text = budget(lanes: 1).description
    #expect(text.hasPrefix("at most "))
    #expect(text.contains(": 1 lane of ") && text.contains("(pages "))
    #expect(budget().description.contains(": 2 lanes of "))
  }

  /// Each lane's slots, what a limit holds up beside them, and what has released its slot.
  @Test func aCrashIsBoundedByWhatLanesWorkOn() {
    var limits = LaneLimits()
    limits.segments = 5
    limits.bulk = 6
    limits.events = 7
    limits.stragglers = 8
    limits.awaitingAnswers = 9
    let bound = CrashBound(lanes: 3, limits: limits, claimLifetime: .seconds(10))
    #expect(bound.working == 3 * (5 + 6 + 7 + 8 + LimitedSegments.maximum))
    #expect(bound.awaiting == 3 * 2 * 9)
    #expect("\(bound)".contains("10s later"))
  }
}
