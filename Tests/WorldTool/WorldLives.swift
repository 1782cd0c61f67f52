import Glibc
import Processes
import Threads
import World

/// Lives many seeds, and shrinks those that break a promise.
final class WorldLives: Sendable {
  private struct Progress {
    var next: UInt64
    var failed: [UInt64] = []
    var lives = 0
    var total = LifeReport()
  }

  private let arguments: WorldArguments
  private let directory: ScratchDirectory
  private let end: UInt64
  private let progress: ThreadLock<Progress>

  init(_ arguments: WorldArguments) throws {
    self.arguments = arguments
    directory = try ScratchDirectory()
    end = arguments.first &+ UInt64(arguments.seeds)
    progress = ThreadLock(Progress(next: arguments.first))
  }

  /// - Returns: whether every promise was kept.
  func run() throws -> Bool {
    if let seed = arguments.only { return try liveOne(seed) }
    let threads = (0..<arguments.jobs).compactMap { _ in SystemThread { self.work() } }
    for thread in threads { thread.join() }
    let (total, lives, failed) = progress.withLock { ($0.total, $0.lives, $0.failed.sorted()) }
    say(
      "\(lives) lives: \(total.events) events, \(total.accepted) pushes, \(total.faults) faults, "
        + "\(total.copies) second copies, \(Int(total.seconds)) s of the world")
    say(failed.isEmpty ? "every promise was kept" : "seeds that broke a promise: \(failed)")
    return failed.isEmpty && lives == arguments.seeds
  }

  private func liveOne(_ seed: UInt64) throws -> Bool {
    let plan = LifePlan(seed: seed).without(arguments.without)
    let report = try live(plan, print: arguments.traces ? { say($0) } : nil)
    if !arguments.traces { for line in report.violations { say(line) } }
    say(
      "seed \(seed): \(report.events) events, \(report.accepted) pushes, \(report.faults) faults, "
        + "digest \(String(report.digest, radix: 16))")
    return report.violations.isEmpty
  }

  private func work() {
    while let seed = take() {
      do {
        try look(at: seed)
      } catch {
        say("seed \(seed): \(error)")
      }
    }
  }

  private func take() -> UInt64? {
    progress.withLock { progress in
      guard progress.next < end, !arguments.isBrief || progress.failed.isEmpty else { return nil }
      defer { progress.next += 1 }
      return progress.next
    }
  }

  private func look(at seed: UInt64) throws {
    let plan = LifePlan(seed: seed)
    let report = try live(plan)
    var violations = report.violations
    if arguments.livesTwice, try live(plan).digest != report.digest {
      violations.append("violation: two lives of one seed differ")
    }
    progress.withLock { progress in
      progress.lives += 1
      progress.total.add(report)
      if !violations.isEmpty { progress.failed.append(seed) }
    }
    guard let first = violations.first else { return }
    guard !arguments.isBrief else { return say("violation of seed \(seed): \(first)") }
    let lines = [
      "seed \(seed): \(violations.count) violations, the first: \(first)",
      "  replay: make world ARGS='--seed \(seed) --trace'",
    ]
    say(lines.joined(separator: "\n"))
    if !report.violations.isEmpty { say(try shrink(plan).joined(separator: "\n")) }
  }

  private func live(_ plan: LifePlan, print: ((String) -> Void)? = nil) throws -> LifeReport {
    try LifeRun.run(plan, directory: directory.path, print: print)
  }

  // MARK: shrinking

  /// Leaves out deeds as long as a promise is still broken: halves of what is left, then one by
  /// one.
  private func shrink(_ plan: LifePlan) throws -> [String] {
    var left = plan.deeds.map(\.number)
    var size = left.count / 2
    while size >= 1 {
      var place = 0
      while place < left.count {
        let part = Set(left[place..<min(place + size, left.count)])
        let kept = left.filter { !part.contains($0) }
        if try fails(plan, with: kept) { left = kept } else { place += size }
      }
      size /= 2
    }
    let gone = plan.deeds.map(\.number).filter { !left.contains($0) }
    let needed = plan.deeds.filter { left.contains($0.number) }.map { "    \($0.at): \($0.deed)" }
    let list = gone.map { "\($0)" }.joined(separator: ",")
    return ["  enough for a violation:"] + needed + [
      "  replay: make world ARGS='--seed \(plan.seed) --trace --without \(list)'"
    ]
  }

  private func fails(_ plan: LifePlan, with kept: [Int]) throws -> Bool {
    let without = Set(plan.deeds.map(\.number)).subtracting(kept)
    return try !live(plan.without(without)).violations.isEmpty
  }
}

extension LifeReport {
  fileprivate mutating func add(_ other: LifeReport) {
    events += other.events
    accepted += other.accepted
    faults += other.faults
    copies += other.copies
    seconds += other.seconds
  }
}
