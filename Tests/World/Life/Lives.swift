import Threads

/// Lives many seeds, side by side on threads, and finds the deeds that are needed for a violation.
package final class Lives: Sendable {
  package struct Options: Sendable {
    package var first: UInt64 = 1
    package var seeds = 200
    package var threads = 1
    /// Lives each seed twice, and compares.
    package var livesTwice = false
    /// Ends at the first violation, and looks for no smaller life that has it.
    package var isBrief = false
    /// Lives only what comes before the events.
    package var areStormsOnly = false

    package init() {}
  }

  package struct Sum: Sendable {
    package var lives = 0
    package var failed: [UInt64] = []
    package var events = 0
    package var accepted = 0
    package var faults = 0
    package var copies = 0
    package var seconds = 0.0

    fileprivate mutating func add(_ report: LifeReport) {
      lives += 1
      events += report.events
      accepted += report.accepted
      faults += report.faults
      copies += report.copies
      seconds += report.seconds
    }
  }

  private struct Progress {
    var next: UInt64
    var sum = Sum()
  }

  private let options: Options
  private let directory: String
  private let say: @Sendable (String) -> Void
  private let end: UInt64
  private let audiences = LifeAudiences()
  private let progress: ThreadLock<Progress>

  /// - Parameters:
  ///   - directory: a scratch directory, for the simulators' files.
  ///   - say: gets lines about violations, from any thread.
  package init(
    _ options: Options, directory: String, say: @escaping @Sendable (String) -> Void
  ) {
    self.options = options
    self.directory = directory
    self.say = say
    end = options.first &+ UInt64(options.seeds)
    progress = ThreadLock(Progress(next: options.first))
  }

  package func run() -> Sum {
    // Each thread's simulators have files of their own.
    let threads = (0..<options.threads).compactMap { number in
      SystemThread { self.work(in: "\(self.directory)/\(number)") }
    }
    for thread in threads { thread.join() }
    return progress.withLock { progress in
      progress.sum.failed.sort()
      return progress.sum
    }
  }

  private func work(in directory: String) {
    let (audiences, areStormsOnly) = (audiences, options.areStormsOnly)
    let live = {
      try LifeRun.run(
        $0, directory: directory, audiences: audiences, isStormOnly: areStormsOnly)
    }
    while let seed = take() {
      do {
        try look(at: seed, live)
      } catch {
        say("seed \(seed): \(error)")
        progress.withLock { $0.sum.failed.append(seed) }
      }
    }
  }

  private func take() -> UInt64? {
    progress.withLock { progress in
      guard progress.next < end, !options.isBrief || progress.sum.failed.isEmpty else {
        return nil
      }
      defer { progress.next += 1 }
      return progress.next
    }
  }

  private func look(at seed: UInt64, _ live: (LifePlan) throws -> LifeReport) throws {
    let plan = LifePlan(seed: seed)
    let report = try live(plan)
    var violations = report.violations
    if options.livesTwice, try live(plan).digest != report.digest {
      violations.append("violation: two lives of one seed differ")
    }
    progress.withLock { progress in
      progress.sum.add(report)
      if !violations.isEmpty { progress.sum.failed.append(seed) }
    }
    guard let first = violations.first else { return }
    var lines = [
      "violation of seed \(seed), the first of \(violations.count): \(first)",
      "  replay: make world ARGS='--seed \(seed) --trace'",
    ]
    if !options.isBrief, !report.violations.isEmpty { lines += try Self.shrink(plan, live) }
    say(lines.joined(separator: "\n"))
  }

  // MARK: shrinking

  /// Leaves out deeds as long as a promise is still broken: halves of what is left, then smaller
  /// parts, at last one by one.
  private static func shrink(
    _ plan: LifePlan, _ live: (LifePlan) throws -> LifeReport
  ) rethrows -> [String] {
    let all = Set(plan.deeds.map(\.number))
    var left = plan.deeds.map(\.number)
    var size = left.count / 2
    while size >= 1 {
      var place = 0
      while place < left.count {
        let part = Set(left[place..<min(place + size, left.count)])
        let kept = left.filter { !part.contains($0) }
        let report = try live(plan.without(all.subtracting(kept)))
        if report.violations.isEmpty { place += size } else { left = kept }
      }
      size /= 2
    }
    let needed = plan.deeds.filter { left.contains($0.number) }
    let gone = all.subtracting(left).sorted().map { "\($0)" }.joined(separator: ",")
    return ["  enough for a violation:"] + needed.map { "    \($0.at): \($0.deed)" } + [
      "  replay: make world ARGS='--seed \(plan.seed) --trace --without \(gone)'"
    ]
  }
}
