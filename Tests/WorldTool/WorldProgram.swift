import Processes
import World

/// What `make world` runs.
struct WorldProgram {
  private let arguments: WorldArguments
  private let directory: ScratchDirectory

  init(_ arguments: WorldArguments) throws {
    self.arguments = arguments
    directory = try ScratchDirectory()
  }

  /// - Returns: whether every promise was kept.
  func run() throws -> Bool {
    if let seed = arguments.only { return try liveOne(seed) }
    guard arguments.showsScenarios else { return liveMany() }
    guard arguments.wantsLives else { return try showScenarios() }
    guard arguments.scenarios.isEmpty else { return try showScenariosOfSeeds() }
    return try liveMany() && areBoundsKept()
  }

  private var scenarios: [Scenario] {
    Scenario.all.filter { $0.name.hasPrefix(arguments.scenarios) }
  }

  private func showScenarios() throws -> Bool {
    var areKept = true
    for scenario in scenarios {
      let outcome = try scenario.run(print: arguments.traces ? { say($0) } : nil)
      for line in scenario.report(outcome) { say(line) }
      if !scenario.broken(by: outcome).isEmpty { areKept = false }
    }
    return areKept
  }

  private func showScenariosOfSeeds() throws -> Bool {
    var areKept = true
    let seeds = (0..<UInt64(arguments.lives.seeds)).map { arguments.lives.first + $0 }
    for scenario in scenarios {
      let outcomes = try seeds.map { try scenario.run(seed: $0) }
      for line in scenario.report(outcomes) { say(line) }
      if !outcomes.allSatisfy({ scenario.broken(by: $0).isEmpty }) { areKept = false }
    }
    return areKept
  }

  private func areBoundsKept() throws -> Bool {
    for scenario in scenarios {
      guard let bound = scenario.broken(by: try scenario.run()).first else { continue }
      say("violation of \(scenario.name): \(bound)")
      return false
    }
    return true
  }

  private func liveOne(_ seed: UInt64) throws -> Bool {
    let plan = LifePlan(seed: seed).without(arguments.without)
    let report = try LifeRun.run(
      plan, directory: directory.path, print: arguments.traces ? { say($0) } : nil)
    if !arguments.traces { for line in report.violations { say(line) } }
    say(
      "seed \(seed): \(report.events) events, \(report.devices) devices, "
        + "\(report.accepted) pushes, \(report.faults) faults, "
        + "digest \(String(report.digest, radix: 16))")
    return report.violations.isEmpty
  }

  private func liveMany() -> Bool {
    let sum = Lives(arguments.lives, directory: directory.path, say: { say($0) }).run()
    say(
      "\(sum.lives) lives: \(sum.events) events, \(sum.accepted) pushes, \(sum.faults) faults, "
        + "\(sum.copies) second copies, \(Int(sum.seconds)) s of the world")
    say(
      sum.failed.isEmpty
        ? "every promise was kept" : "seeds that broke a promise: \(sum.failed)")
    return sum.failed.isEmpty
  }
}
