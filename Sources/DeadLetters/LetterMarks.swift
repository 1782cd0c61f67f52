import Keyspace
import Redis

/// The last act upon a dead letter.
package enum LetterState: String, Sendable, CaseIterable {
  case new
  /// It was sent in again.
  case replayed
  /// Somebody has said that it is not needed. Kafka keeps it for as long as the topic says.
  case dropped
}

/// A state, and since when, in ms since 1970; 0 for a new letter.
package struct LetterMark: Sendable, Equatable {
  package let state: LetterState
  package let at: Int64

  package static let new = LetterMark(state: .new, at: 0)

  package init(state: LetterState, at: Int64) {
    self.state = state
    self.at = at
  }
}

/// Notes in Redis which letters were replayed or dropped. A letter is noted under the day on which
/// it was written, with its time: in a topic that was created again the same offset is another
/// letter. Confined to the client's loop.
package struct LetterMarks {
  private let redis: RedisClient
  private let keyspace: Keyspace

  /// Fields of one command.
  private static let batch = 1_000

  package init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
  }

  /// Of the letters that were replayed or dropped.
  package func marks(
    of letters: [LetterSummary]
  ) async throws(RedisError) -> [LetterID: LetterMark] {
    var marks: [LetterID: LetterMark] = [:]
    for part in parts(of: letters) {
      let reply = try await ask(["HMGET", part.key] + part.letters.map { "\($0.id)" })[0]
      guard reply.count == part.letters.count else {
        throw .unexpected(reply, to: RedisRead("HMGET", part.key, wanted: "hash"))
      }
      for (index, letter) in part.letters.enumerated() {
        if let text = reply[index].text, let mark = Self.mark(text, of: letter) {
          marks[letter.id] = mark
        }
      }
    }
    return marks
  }

  /// Safe to repeat.
  /// - Parameter now: ms since 1970.
  package func set(
    _ state: LetterState, of letters: [LetterSummary], now: Int64
  ) async throws(RedisError) {
    for part in parts(of: letters) {
      let fields = part.letters.flatMap {
        ["\($0.id)", "\(state.rawValue) \(now) \($0.writtenAt)"]
      }
      let lifetime = String(Keyspace.letterMarksLifetimeSeconds)
      _ = try await ask(["HSET", part.key] + fields, ["EXPIRE", part.key, lifetime])
    }
  }

  private func parts(of letters: [LetterSummary]) -> [(key: String, letters: [LetterSummary])] {
    var parts: [(key: String, letters: [LetterSummary])] = []
    for letter in letters {
      let key = keyspace.letterMarks(milliseconds: letter.writtenAt)
      if let last = parts.last, last.key == key, last.letters.count < Self.batch {
        parts[parts.count - 1].letters.append(letter)
      } else {
        parts.append((key, [letter]))
      }
    }
    return parts
  }

  private static func mark(_ text: String, of letter: LetterSummary) -> LetterMark? {
    let words = text.split(separator: " ")
    guard words.count == 3, let state = LetterState(rawValue: String(words[0])),
      let at = Int64(words[1]), Int64(words[2]) == letter.writtenAt
    else { return nil }
    return LetterMark(state: state, at: at)
  }

  private func ask(_ commands: [String]...) async throws(RedisError) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    let replies = try await redis.execute(pipeline)
    if let error = replies.firstError { throw RedisError(error) }
    return replies
  }
}
