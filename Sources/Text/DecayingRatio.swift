/// Answers, and those among them that say "not now". Of more than are remembered half is forgotten,
/// so that new ones weigh more than old ones.
package struct DecayingRatio: Sendable {
  package private(set) var answers = 0
  package private(set) var failures = 0
  private let remembered: Int

  /// - Parameter answers: without a bound they are added up.
  package init(remembering answers: Int = .max) { remembered = answers }

  package var taken: Int { answers - failures }
  package var share: Double { answers == 0 ? 0 : Double(failures) / Double(answers) }
  /// The share where one of two is as good as nothing known.
  package var likelyShare: Double { Double(failures + 1) / Double(answers + 2) }
  /// The same of others than the push that is asked about, whose failure is among them; none is as
  /// good as nothing known.
  package var shareOfOthers: Double { Double(max(0, failures - 1)) / Double(answers + 1) }

  package mutating func add(_ more: Int = 1, failures moreFailures: Int) {
    answers += more
    failures += moreFailures
    while answers > remembered {
      answers /= 2
      failures /= 2
    }
  }

  /// A tenth less of it was taken, and by more than chance: by so many standard deviations.
  package func isMore(than other: DecayingRatio, deviations: Double = 3) -> Bool {
    guard 1 - share <= 0.9 * (1 - other.share) else { return false }
    guard other.answers > 0 else { return true }
    let all = Double(failures + other.failures) / Double(answers + other.answers)
    let variance = all * (1 - all) * (1 / Double(answers) + 1 / Double(other.answers))
    let excess = share - other.share
    return excess * excess > deviations * deviations * variance
  }
}
