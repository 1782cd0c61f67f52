import Keyspace
import Model
import Redis

/// The lists of users that an event names, and how to find out where they are.
struct UserLists {
  typealias List = AudienceExpression.List

  let all: [List]
  private let streamer: String
  /// Where followers without shards may stand.
  private let plainKey: String?
  private let keyspace: Keyspace

  init(_ all: [List], streamer: String, plainKey: String?, keyspace: Keyspace) {
    self.all = all
    self.streamer = streamer
    self.plainKey = plainKey
    self.keyspace = keyspace
  }

  /// The name of a list, and the keyspace of its keys.
  func name(of list: List) -> (name: String, keyspace: Keyspace) {
    switch list {
    case .followers: (streamer, keyspace)
    case .tag(let tag): (tag, keyspace.ofTags)
    }
  }

  /// Where each of them is now; those that are nowhere have nobody.
  func headings(from redis: RedisClient) async throws(ExpandError) -> [List: ListPlace] {
    let pipeline = RedisPipeline()
    let keys = all.map { list in
      let (name, keyspace) = name(of: list)
      return keyspace.followers(of: name)
    }
    for key in keys { pipeline.append(["HMGET", key] + FollowerHeading.fields) }
    let plainKey = all.contains(.followers) ? plainKey : nil
    if let plainKey { pipeline.append("TYPE", plainKey) }
    let replies = try await FollowerHeading.replies(to: pipeline, keys: keys, from: redis)
    var places: [List: ListPlace] = [:]
    for (index, list) in all.enumerated() {
      if let heading = try FollowerHeading.read(replies[index], key: keys[index]) {
        places[list] = .sharded(heading)
      }
    }
    guard let plainKey, places[.followers] == nil else { return places }
    if let error = replies[all.count].error {
      throw ExpandError(reply: error, to: "TYPE", key: plainKey, wanted: "set")
    }
    switch replies[all.count].text {
    case "set": places[.followers] = .plain(key: plainKey)
    case "none": break
    case let type:
      throw ExpandError(
        .redis(.wrongType),
        "\(plainKey) is a \(type ?? "key of no type"), not a set: correct the plain set's key in "
          + "the configuration, or RENAME the key")
    }
    return places
  }
}

extension AudienceExpression {
  /// The lists to read, where they are. The smallest first: its users are remembered, so that who
  /// comes from a larger one, of which not everybody can be, comes once.
  func sources(_ places: [List: ListPlace]) -> [List] {
    (sources { places[$0]?.size ?? 0 } ?? []).filter { places[$0] != nil }
      .sorted { (places[$0]?.size ?? 0) < (places[$1]?.size ?? 0) }
  }

  /// In how many parts its users are read: as many as the largest list that is read has shards. A
  /// plain set cannot be cut. Nil when there is nobody to read.
  func parts(_ places: [List: ListPlace]) -> Int? {
    let sources = sources(places)
    guard !sources.isEmpty else { return nil }
    return sources.reduce(1) { parts, list in
      guard let parts, case .sharded(let heading) = places[list] else { return nil }
      return max(parts, heading.shards)
    } ?? 1
  }
}

/// Where one list of users is.
enum ListPlace: Equatable {
  case sharded(FollowerHeading)
  /// A streamer's followers that another system keeps.
  case plain(key: String)

  /// A hint, for choosing which of several lists to read.
  var size: Int {
    switch self {
    case .sharded(let heading): heading.followers
    case .plain: 1 << 40
    }
  }
}
