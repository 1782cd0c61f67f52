import Foundation
import Testing
import Text

@testable import Telemetry

@Suite struct ClockTests {
  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00.000Z"), (1_795_248_000_123, "2026-11-21T08:00:00.123Z"),
    (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (.max, "9999-12-31T23:59:59.999Z"), (.min, "0000-01-01T00:00:00.000Z"),
  ])
  func timesAreWrittenAsRFC3339(milliseconds: Int64, text: String) {
    #expect(WallClock.rfc3339(milliseconds) == text)
  }

  @Test func everyDayOfACycleAgreesWithFoundation() {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    for day in stride(from: Int64(-20_000), to: 60_000, by: 7) {
      let milliseconds = day * 86_400_000 + 43_261_007
      let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
      #expect(WallClock.rfc3339(milliseconds) == formatter.string(from: date))
    }
  }

  @Test func clocksRun() {
    let first = MonotonicClock.nowNanoseconds()
    #expect(MonotonicClock.nowNanoseconds() >= first && first > 0)
    #expect(
      abs(Double(WallClock.nowMilliseconds()) - Date().timeIntervalSince1970 * 1_000) < 60_000)
  }
}

@Suite struct ProcessUsageTests {
  @Test func thisProcessUsesCPUAndMemory() throws {
    let before = ProcessUsage.own()
    var sum = 0
    while ProcessUsage.own().cpuNanoseconds < before.cpuNanoseconds + 5_000_000 { sum &+= 1 }
    let after = try #require(ProcessUsage.of(getpid()))
    #expect(after.cpuNanoseconds > before.cpuNanoseconds)
    #expect(after.residentBytes > 1 << 20 && after.peakResidentBytes >= after.residentBytes / 2)
    #expect(after.peakResidentBytes < 1 << 36)
  }

  @Test func noProcessNoAnswer() {
    #expect(ProcessUsage.of(0) == nil && ProcessUsage.of(-1) == nil)
    #expect(ProcessUsage.of(.max) == nil)
  }

  /// Started before now, and after the process that runs the tests was built.
  @Test func thisProcessHasStarted() {
    let now = Date().timeIntervalSince1970
    let started = ProcessUsage.ownStartTime
    #expect(started < now + 1 && started > now - 3600)
    #expect(ProcessUsage.ownStartTime == started)
    let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
    #expect(ProcessUsage.startTicks(fromStat: "77 (a) b) (c) \(fields)\n") == 4711)
    #expect(ProcessUsage.startTicks(fromStat: "77 (a) S 1 2") == nil)
  }

  @Test func statIsReadBehindTheLastParenthesis() {
    let fields = "S 1 2 3 4 5 6 7 8 9 10 250 50 1 1"
    #expect(ProcessUsage.ticks(fromStat: "77 (a) b) (c) \(fields)\n") == 300)
    for text in [
      "", ")", "1 (x)", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9 10 x 50",
      "1 (x) S 1 2 3 4 5 6 7 8 9 10 -1 50",
      "1 (x) S 1 2 3 4 5 6 7 8 9 10 18446744073709551615 1",
    ] {
      #expect(ProcessUsage.ticks(fromStat: text) == nil, "\(text)")
    }
  }

  @Test func statusIsReadByName() throws {
    let text = "Name:\tVmRSS:\nVmPeak:\t 9 kB\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n"
    let memory = try #require(ProcessUsage.memory(fromStatus: text))
    #expect(memory == (1_048_576, 2_097_152))
    for text in [
      "", "VmRSS: 1 kB", "VmRSS: 1 MB\nVmHWM: 1 kB", "VmRSS: -1 kB\nVmHWM: 1 kB",
      "VmRSS: 9223372036854775807 kB\nVmHWM: 1 kB", "VmRSS:\nVmHWM:",
    ] {
      #expect(ProcessUsage.memory(fromStatus: text) == nil, "\(text)")
    }
  }
}

@Suite struct WorkerCountersTests {
  @Test func everyCounterHasItsOwnPlace() {
    let counters = WorkerCounters()
    for counter in WorkerCounter.allCases { counters.add(counter, counter.rawValue + 1) }
    let snapshot = counters.snapshot()
    for counter in WorkerCounter.allCases { #expect(snapshot[counter] == counter.rawValue + 1) }
  }

  @Test func countsFromManyThreadsAddUp() async {
    let counters = WorkerCounters()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 {
            counters.add(.pushesAccepted)
            counters.addRejected(reason: 3)
          }
        }
      }
    }
    let snapshot = counters.snapshot()
    #expect(snapshot[.pushesAccepted] == 8_000 && snapshot[.pushesRejected] == 8_000)
    #expect(snapshot.rejections[3] == 8_000)
    #expect(snapshot.pushes == 16_000)
  }

  @Test func aReasonBeyondTheLastCountsAsTheLast() {
    let counters = WorkerCounters()
    counters.addRejected(reason: 255, 3)
    let snapshot = counters.snapshot()
    #expect(snapshot.rejections[63] == 3 && snapshot[.pushesRejected] == 3)
  }
}
