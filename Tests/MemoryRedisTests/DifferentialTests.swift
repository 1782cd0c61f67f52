import Testing

/// A Redis in memory and a real one, side by side.
@Suite struct DifferentialTests {
  /// A failure names the seed; another one is as good.
  private static let seed: UInt64 = 38
  private static let count = 100_000

  @Test func answersAsARealServerDoes() throws {
    var random = RandomSteps(seed: Self.seed)
    let steps = (0..<Self.count).map { _ in random.next() }
    let differential = try Differential()
    guard let difference = try differential.run(steps) else { return }
    let failed = Array(steps.prefix(difference.index + 1))
    var report = "seed \(Self.seed), \(difference)"
    if let (few, last) = try differential.shrink(failed) {
      let lines = few.map { "  \($0.time) \(Differential.text($0))" }
      report += "\nwhich these do from nothing:\n\(lines.joined(separator: "\n"))\n\(last)"
    }
    Issue.record("\(report)")
  }

  /// As often as steps are right, they should do something.
  @Test func stepsAreOfAllKinds() {
    var random = RandomSteps(seed: 1)
    let steps = (0..<20_000).map { _ in random.next() }
    let names = Set(steps.compactMap { $0.command?.first?.text.uppercased() })
    #expect(names.count > 45)
    let digests = Set(steps.compactMap { $0.command?.dropFirst().first })
    #expect(RandomSteps.digests.allSatisfy { digests.contains($0) })
    #expect(steps.contains { if case .limitedCommand = $0.action { true } else { false } })
    #expect(steps.contains { if case .setReplica = $0.action { true } else { false } })
    #expect(steps.contains { if case .setOutOfMemory = $0.action { true } else { false } })
  }
}
