import Processes
import Threads

/// What came of a scenario.
package struct ScenarioOutcome: Sendable {
  var figures: [ScenarioFigure: Double] = [:]
  /// Pushes a second.
  var goodput = 0.0
  /// Numbers of Redis' by event.
  var books: [String: [String: Int]] = [:]
  /// What is wrong with the sums, in words.
  var problems: [String] = []
  /// Of all time.
  var statistics: [String: Int] = [:]
  /// Of the workers that were looked at, by look: heartbeats and metrics.
  var heard: [String: [String: Double]] = [:]
  var measured: [String: [String: Double]] = [:]
  /// Seconds after the first event, of each request, by event.
  var requestTimes: [String: [Double]] = [:]

  func value(_ figure: ScenarioFigure) -> Double? {
    switch figure {
    case .requests(let event, let time):
      requestTimes[event].map { times in Double(times.count { time.contains($0) }) }
    case .counted(let event, let field): books[event].map { Double($0[field] ?? 0) }
    case .statsAt(let look, let name): heard["stats at \(look)"].map { $0[name] ?? 0 }
    case .countedAt(let look, let event, let field):
      heard["\(event) at \(look)"].map { $0[field] ?? 0 }
    case .readAhead(let look): measured[look]?[ScenarioLife.readAhead]
    case .stats(let name): Double(statistics[name] ?? 0)
    case .heard(let look, let field): heard[look]?[field]
    case .measured(let look, let series): measured[look]?[series]
    default: figures[figure]
    }
  }

  /// Divides by what the same comes to when nothing disturbs.
  mutating func compare(with undisturbed: ScenarioOutcome) {
    for (figure, value) in undisturbed.figures {
      guard case .lastPush(let event) = figure, let own = figures[figure] else { continue }
      figures[.ratio(event)] = own / value
    }
    figures[.goodput] = goodput / undisturbed.goodput
  }
}

extension Scenario {
  /// What undisturbed runs came to, which several scenarios are compared with.
  private struct Calm: Hashable {
    let setUp: ScenarioSetUp
    let events: [ScenarioEvent]
    let seed: UInt64
  }

  private static let known = ThreadLock<[Calm: ScenarioOutcome]>([:])

  /// Lives through it, and where a bound is about that, through the same undisturbed.
  /// - Parameters:
  ///   - seed: of its world.
  ///   - print: gets each line of the trace of the first.
  package func run(
    seed: UInt64 = 1, print: ((String) -> Void)? = nil
  ) throws -> ScenarioOutcome {
    let directory = try ScratchDirectory()
    var outcome = try ScenarioLife(
      self, seed: seed, directory: directory.path, print: print
    ).run()
    if bounds.contains(where: \.figure.isComparison) {
      outcome.compare(with: try reference(seed, directory.path))
    }
    return outcome
  }

  private func reference(_ seed: UInt64, _ directory: String) throws -> ScenarioOutcome {
    let calm = undisturbed
    let key = Calm(setUp: calm.setUp, events: calm.events, seed: seed)
    if let outcome = Self.known.withLock({ $0[key] }) { return outcome }
    let outcome = try ScenarioLife(calm, seed: seed, directory: directory).run()
    Self.known.withLock { $0[key] = outcome }
    return outcome
  }

  /// Each bound that the outcome is not within, in words.
  package func broken(by outcome: ScenarioOutcome) -> [String] {
    bounds.compactMap { bound in
      guard let value = outcome.value(bound.figure) else { return "\(bound.figure) is not known" }
      guard bound.range.contains(value) else {
        return "\(bound.figure) is \(ScenarioText.number(value)), not \(bound.text)"
      }
      return nil
    }
  }

  /// A line for each of its figures, with the bound.
  package func report(_ outcome: ScenarioOutcome) -> [String] {
    ["\(name): \(promise)"] + bounds.map { line(of: $0, outcome.value($0.figure)) }
      + outcome.problems.map { "  \($0)" }
  }

  /// The same of several worlds: from the lowest value of each figure to the highest.
  package func report(_ outcomes: [ScenarioOutcome]) -> [String] {
    ["\(name): \(promise)"]
      + bounds.map { bound in
        let values = outcomes.compactMap { $0.value(bound.figure) }.sorted()
        let isKept = values.count == outcomes.count && values.allSatisfy(bound.range.contains)
        let text = [values.first, values.last].map { $0.map(ScenarioText.number) ?? "?" }
        return "  \(bound.figure): \(text[0])–\(text[1]) (\(bound.text))"
          + (isKept ? "" : "; BROKEN")
      }
  }

  private func line(of bound: ScenarioBound, _ value: Double?) -> String {
    let isKept = value.map { bound.range.contains($0) } ?? false
    return "  \(bound.figure): \(value.map(ScenarioText.number) ?? "?") (\(bound.text))"
      + (bound.missed.map { "; known to miss: \($0)" } ?? "") + (isKept ? "" : "; BROKEN")
  }
}
