import Kafka
import Testing

@testable import Topics

@Suite struct RepeatedQuestionTests {
  /// Asks until the answer is `enough`. Answers how often it asked.
  private func questions(until enough: Int, within timeout: Duration) throws -> Int {
    var now = ContinuousClock.now
    var asked = 0
    let question = RepeatedQuestion(now: { now }, pause: { now += $0 })
    let answer = try question.ask(after: 0, within: timeout, isEnough: { $0 == enough }) {
      () throws(KafkaError) in
      asked += 1
      return asked
    }
    #expect(answer == asked)
    return asked
  }

  @Test func pausesBetweenQuestionsUntilTheTimeIsOver() throws {
    #expect(try questions(until: .max, within: .seconds(30)) == 300)
    #expect(try questions(until: .max, within: .zero) == 0)
  }

  @Test func endsWithTheAnswer() throws {
    #expect(try questions(until: 0, within: .seconds(30)) == 0)
    #expect(try questions(until: 3, within: .seconds(30)) == 3)
  }
}
