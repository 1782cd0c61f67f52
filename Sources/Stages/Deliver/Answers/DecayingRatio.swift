/// Answers, and those among them that say "not now". Of more than are remembered half is forgotten,
/// so that new ones weigh more than old ones.
struct DecayingRatio {
  var answers = 0
  var failures = 0

  var taken: Int { answers - failures }
  var share: Double { answers == 0 ? 0 : Double(failures) / Double(answers) }
  /// The share where one of two is as good as nothing known.
  var likelyShare: Double { Double(failures + 1) / Double(answers + 2) }
  /// The same of others than the push that is asked about, whose failure is among them; none is as
  /// good as nothing known.
  var shareOfOthers: Double { Double(max(0, failures - 1)) / Double(answers + 1) }

  mutating func add(_ other: DecayingRatio) {
    answers += other.answers
    failures += other.failures
  }

  mutating func add(_ more: Int, failures: Int, remembering most: Int) {
    add(DecayingRatio(answers: more, failures: failures))
    while answers > most { halve() }
  }

  mutating func halve() {
    answers /= 2
    failures /= 2
  }

  /// A tenth less of it was taken, and by more than chance: by so many standard deviations.
  func isMore(than other: DecayingRatio, deviations: Double = 3) -> Bool {
    guard 1 - share <= 0.9 * (1 - other.share) else { return false }
    guard other.answers > 0 else { return true }
    let all = Double(failures + other.failures) / Double(answers + other.answers)
    let variance = all * (1 - all) * (1 / Double(answers) + 1 / Double(other.answers))
    let excess = share - other.share
    return excess * excess > deviations * deviations * variance
  }
}
