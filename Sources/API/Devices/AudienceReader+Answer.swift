import Devices
import JSON

extension AudienceReader {
  /// How many are in a list of users, as both kinds of lists are told: a streamer's followers and a
  /// tag's users.
  /// - Parameters:
  ///   - kind: what the list is of, and the member that names it.
  ///   - users: the member with the number of them.
  ///   - limit: how many are told by name at most.
  func answer(
    on name: String, _ kind: String, users: String, sample limit: Int
  ) async throws(Problem) -> APIResponse {
    let report = try await done { () async throws(DevicesError) in
      try await self.report(on: name, sample: limit)
    }
    var members: [(String, JSONValue)] = [
      (kind, .string(name)), (users, .integer(Int64(report.followers))),
      ("shards", .integer(Int64(report.shards))),
      ("recommended_shards", .integer(Int64(report.recommendedShards))),
      ("is_divided_now", .bool(report.comingShards != nil)),
    ]
    if limit > 0 { members.append(("sample", .array(report.sample.map { .string($0) }))) }
    return .ok(members)
  }
}
