import Keyspace
import Model
import Redis
import Text

/// The places that a user's devices take, of which there is a bounded number. A browser's
/// subscription with new keys takes the place of the one with the old keys (`twins.lua`), so the
/// keys do not count.
struct DevicePlaces {
  private let taken: Set<ExactText>

  /// Those of a user; nil where none of `members` is a browser's, or the user has more devices than
  /// are read: then each member has a place of its own.
  /// - Parameters:
  ///   - members: of the devices that are to be bound.
  ///   - count: how many devices the user has.
  static func read(
    of user: String, for members: [String], among count: Int, _ redis: RedisClient,
    _ keyspace: Keyspace
  ) async throws(DevicesError) -> DevicePlaces? {
    guard count <= UserReading.maximumElements,
      members.contains(where: { $0.utf8.starts(with: Destination.webpush.memberPrefix.utf8) })
    else { return nil }
    let replies = try await redis.replies(to: [["SMEMBERS", keyspace.bindings(user: user)]])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    let known = replies[0]
    return DevicePlaces(
      taken: Set((0..<known.count).compactMap { known[$0].text.map(place) }))
  }

  /// How many places these devices take that are free.
  func free(for members: [String]) -> Int {
    Set(members.map(Self.place)).subtracting(taken).count
  }

  private static func place(_ member: String) -> ExactText {
    guard let binding = Binding(foreign: member), binding.destination == .webpush else {
      return ExactText(member)
    }
    return ExactText(binding.destination.memberPrefix + binding.topic + ":" + binding.token)
  }
}
