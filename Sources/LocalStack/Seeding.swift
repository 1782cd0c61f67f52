import Devices
import EventLoop
import Processes
import Terminal

extension LocalStack {
  /// Rows between two looks at the clock and at signals.
  private static let rowsPerLook = 1_000

  /// Writes followers of a streamer, made one by one.
  /// - Parameters:
  ///   - expected: followers that the shards are made for, when those are more.
  ///   - progress: called with the rows written so far, now and then.
  package func seed(
    streamer: String, followers: Int, expected: Int = 0, progress: (Int) -> Void = { _ in },
    row: (Int) -> AudienceRow
  ) async throws(LocalRunError) {
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    do throws(DevicesError) {
      try await writer.begin(streamer: streamer, expectedFollowers: max(followers, expected))
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    for index in 0..<followers {
      if index % Self.rowsPerLook == 0 {
        try processes.checkpoint()
        progress(index)
      }
      do throws(DevicesError) {
        try await writer.append(row(index))
      } catch {
        throw LocalRunError(.unavailable, "\(error)")
      }
    }
    do throws(DevicesError) {
      try await writer.finish()
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    progress(followers)
  }
}
