import Keyspace
import Redis

/// Takes an import line by line, whoever sends it: a row is checked, written in large pipelines
/// together with others, and leaves no trace when it is refused. Confined to the loop of its Redis
/// client.
///
/// All is added to what is there, so the same lines may come again: who breaks off anywhere begins
/// again.
package final class AudienceImporter {
  package struct Counts: Sendable, Equatable {
    /// Lines that are not blank.
    package var rows = 0
    package var refused = 0
    package var users = 0
    package var devices = 0
    /// Those that are new.
    package var follows = 0
    package var tags = 0
    /// Streamers whose followers, and tags whose users, had outgrown their shards, and are in more
    /// of them now.
    package var divided: [String] = []

    package init() {}
  }

  private let reader: ImportRowReader
  private let writer: AudienceWriter
  private let follows: AudienceFollows
  private let tags: AudienceFollows
  private let sharding: AudienceSharding
  private let tagSharding: AudienceSharding
  private var progress = Counts()

  /// - Parameters:
  ///   - plainSet: where followers without shards may stand; a follow beside them is refused.
  ///   - tell: hears of tokens that go from one user to another, before that is forgotten.
  ///   - onMove: hears of them as soon as they have gone.
  package init(
    redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern?, reader: ImportRowReader,
    tell: TellMoves? = nil, onMove: @escaping ([DeviceMove]) -> Void = { _ in }
  ) {
    self.reader = reader
    writer = AudienceWriter(redis: redis, keyspace: keyspace, tell: tell, onMove: onMove)
    follows = AudienceFollows(redis: redis, keyspace: keyspace, plainSet: plainSet)
    tags = AudienceFollows(redis: redis, keyspace: keyspace.ofTags)
    sharding = AudienceSharding(redis: redis, keyspace: keyspace)
    tagSharding = AudienceSharding(redis: redis, keyspace: keyspace.ofTags)
  }

  /// Of what was taken so far; some of it may wait to be written.
  package var counts: Counts {
    var counts = progress
    counts.devices = writer.devices
    counts.follows = follows.added
    counts.tags = tags.added
    return counts
  }

  /// Rows that were taken, and whose users would have had more devices or fields than we read:
  /// those were not written, the rows' follows and tags were. They are counted as refused, and told
  /// once.
  package func takeOverfull() -> [(line: Int, reason: String)] {
    var told: [(line: Int, reason: String)] = []
    // A row may be written in several parts.
    for refusal in writer.takeOverfull() where told.last?.line != refusal.line {
      told.append(refusal)
      progress.refused += 1
      progress.users -= 1
    }
    return told
  }

  /// Takes a line. Returns why it is refused; nil when it is not.
  /// - Parameter number: what it is called later, when that is found.
  package func take(
    _ line: ImportLine, number: Int = 0
  ) async throws(DevicesError) -> ImportRow.Refusal? {
    if case .text(let bytes) = line, bytes.allSatisfy(Self.isBlank) { return nil }
    progress.rows += 1
    let row: ImportRow
    do throws(ImportRow.Refusal) {
      row = try read(line)
    } catch {
      progress.refused += 1
      return error
    }
    if let refusal = try await refusal(of: row) {
      progress.refused += 1
      return refusal
    }
    for part in row.rows { try await writer.append(part, line: number) }
    for streamer in row.follows {
      try await follows.append(streamer: streamer, user: row.user)
    }
    for tag in row.tags { try await tags.append(streamer: tag, user: row.user) }
    progress.users += 1
    return nil
  }

  private func read(_ line: ImportLine) throws(ImportRow.Refusal) -> ImportRow {
    switch line {
    case .text(let bytes): return try reader.read(bytes)
    case .tooLong:
      throw ImportRow.Refusal("longer than \(ImportRow.maximumBytes >> 20) MiB")
    }
  }

  /// A row leaves no trace when one of its follows is refused.
  private func refusal(
    of row: ImportRow
  ) async throws(DevicesError) -> ImportRow.Refusal? {
    for streamer in row.follows {
      do throws(DevicesError) {
        try await follows.check(streamer: streamer)
      } catch {
        if error.code == .invalid { return ImportRow.Refusal(error.message) }
        throw error
      }
    }
    return nil
  }

  /// What JSON calls blank: any other control byte makes a line that is no row.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }

  /// Writes what is left, and divides the followers of streamers, and the users of tags, who have
  /// outgrown their shards, unless another does that at the same time.
  package func finish() async throws(DevicesError) -> Counts {
    try await writer.finish()
    try await divide(try await follows.finish(), by: sharding)
    try await divide(try await tags.finish(), by: tagSharding)
    return counts
  }

  private func divide(
    _ outgrown: [String], by sharding: AudienceSharding
  ) async throws(DevicesError) {
    for name in outgrown {
      do throws(DevicesError) {
        _ = try await sharding.run(streamer: name, from: .current)
        progress.divided.append(name)
      } catch {
        if error.code != .conflict { throw error }
      }
    }
  }
}
