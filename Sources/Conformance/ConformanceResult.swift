import SingleRequests

/// The outcome of one row of a table of rules, whichever service it is about.
package struct ConformanceResult: Sendable {
  package let rule: String
  package let request: AppleRequest
  /// `400 BadTopic`, or why there was no answer.
  package let answer: String
  /// The answer that it must be, with what it must carry.
  package let expected: String
  private let isAnswered: Bool
  /// The reaction of a worker to this answer, and the one that it ought to have; nil where workers
  /// never ask.
  package let worker: (does: WorkerReaction?, ought: WorkerReaction?)?

  init(
    rule: String, request: AppleRequest, answer: String, expected: String, isAnswered: Bool,
    worker: (does: WorkerReaction?, ought: WorkerReaction?)? = nil
  ) {
    self.rule = rule
    self.request = request
    self.answer = answer
    self.expected = expected
    self.isAnswered = isAnswered
    self.worker = worker
  }

  /// The simulator's answer is the one that it must be, and the worker does with it what it must.
  package var isRight: Bool {
    guard isAnswered else { return false }
    guard let worker else { return true }
    return worker.does != nil && worker.does == worker.ought
  }

  /// The right answer or reaction; nil when it is there.
  package var correction: String? {
    guard !isRight else { return nil }
    guard isAnswered, let worker else { return expected }
    return "worker: \(worker.ought?.rawValue ?? "no rule for \(answer)")"
  }
}
