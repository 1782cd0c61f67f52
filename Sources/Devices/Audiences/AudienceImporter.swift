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
    /// Rows that were not written, or not all of which was.
    package var refused = 0
    /// Users of rows that were written.
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
  /// Rows that may not be written yet.
  private var pending = 0
  private var refused: [RefusedLine] = []

  /// Rows that are written together.
  private static let rowsPerPage = 1_000

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

  /// Of rows that were read, and of users, devices, follows and tags that are written.
  package var counts: Counts {
    var counts = progress
    counts.devices = writer.devices
    counts.follows = follows.added
    counts.tags = tags.added
    return counts
  }

  /// Rows that were taken, and were not written, or not all of which was: their users would have
  /// more devices or fields than we read, or a key in Redis holds another type. Each is told once.
  package func takeRefused() -> [RefusedLine] {
    defer { refused = [] }
    return refused
  }

  /// Takes a line. Returns why it is refused; nil when it is not.
  /// - Parameter number: what it is called later, when that is found; another for each line.
  package func take(
    _ line: ImportLine, number: Int
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
      try await follows.append(streamer: streamer, user: row.user, line: number)
    }
    for tag in row.tags {
      try await tags.append(streamer: tag, user: row.user, line: number)
    }
    pending += 1
    if pending >= Self.rowsPerPage { try await flush() }
    return nil
  }

  /// Writes all of the pending rows, so that what is refused of one is known at once.
  private func flush() async throws(DevicesError) {
    do throws(DevicesError) {
      try await writer.flush()
      try await follows.flush()
      try await tags.flush()
    } catch {
      noteRefused()
      throw error
    }
    progress.users += pending - noteRefused()
    pending = 0
  }

  /// - Returns: how many rows were refused since the last call.
  @discardableResult
  private func noteRefused() -> Int {
    let all = writer.takeRefused() + follows.takeRefused() + tags.takeRefused()
    var seen: Set<Int> = []
    let first = all.filter { seen.insert($0.line).inserted }.sorted { $0.line < $1.line }
    progress.refused += first.count
    refused += first
    return first.count
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
        if error.code == .invalid || error.isOfContent { return ImportRow.Refusal(error.message) }
        throw error
      }
    }
    return nil
  }

  /// Whether the byte is white space in JSON. A line with another control byte is no blank line.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }

  /// Writes what is left, and divides the followers of streamers, and the users of tags, who have
  /// outgrown their shards, unless another does that at the same time.
  package func finish() async throws(DevicesError) -> Counts {
    try await flush()
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
        // All rows are written. The next reader of a key of another type reports it.
        if error.code != .conflict, !error.isOfContent { throw error }
      }
    }
  }
}
