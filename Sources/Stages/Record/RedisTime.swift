import Redis
import Text

extension RecordStage {
  /// What time it is by Redis' clock, which all workers share, in ms since 1970.
  package func time() async throws(RecordError) -> Int64 {
    let reply = try await execute(["TIME"])
    guard reply.count == 2, let seconds = Int64(reply[0].text ?? ""),
      let microseconds = Int64(reply[1].text ?? ""), (0..<1_000_000).contains(microseconds),
      Timestamp.range.contains(seconds), Timestamp.range.contains(seconds * 1000)
    else { throw .unexpected(reply.kind, from: "TIME") }
    return seconds * 1000 + microseconds / 1000
  }
}
