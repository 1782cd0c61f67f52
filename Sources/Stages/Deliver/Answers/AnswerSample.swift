/// Answers, and those among them that say "not now".
struct AnswerSample {
  var answers = 0
  var failures = 0

  var taken: Int { answers - failures }
  var share: Double { answers == 0 ? 0 : Double(failures) / Double(answers) }

  mutating func add(_ other: AnswerSample) {
    answers += other.answers
    failures += other.failures
  }

  /// One answer more; of more than are remembered half is forgotten.
  mutating func count(isFailure: Bool, remembering most: Int) {
    add(AnswerSample(answers: 1, failures: isFailure ? 1 : 0))
    if answers > most { halve() }
  }

  mutating func halve() {
    answers /= 2
    failures /= 2
  }

  /// A tenth less of it was taken, and by more than chance: by so many standard deviations.
  func isMore(than other: AnswerSample, deviations: Double = 3) -> Bool {
    guard 1 - share <= 0.9 * (1 - other.share) else { return false }
    guard other.answers > 0 else { return true }
    let all = Double(failures + other.failures) / Double(answers + other.answers)
    let variance = all * (1 - all) * (1 / Double(answers) + 1 / Double(other.answers))
    let excess = share - other.share
    return excess * excess > deviations * deviations * variance
  }
}
