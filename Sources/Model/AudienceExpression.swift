/// Users that an event addresses by lists that they are in: a tag's users, the streamer's
/// followers, and what and, or and not make of a few such lists.
package indirect enum AudienceExpression: Sendable, Equatable {
  case followers
  case tag(String)
  case and([AudienceExpression])
  case or([AudienceExpression])
  case not(AudienceExpression)

  /// Parts that an and, or an or, has at most: at the top, and inside of another. So an expression
  /// names 32 lists at most: each is a question to Redis for each page of users.
  package static let maximumParts = (outer: 8, inner: 4)

  /// One list of users.
  package enum List: Sendable, Hashable {
    case followers
    case tag(String)
  }

  /// Every list that is named, once, in the order in which they are named first.
  package var lists: [List] {
    var lists: [List] = []
    gather(into: &lists)
    return lists
  }

  private func gather(into lists: inout [List]) {
    switch self {
    case .followers: Self.add(.followers, to: &lists)
    case .tag(let tag): Self.add(.tag(tag), to: &lists)
    case .and(let parts), .or(let parts): for part in parts { part.gather(into: &lists) }
    case .not(let part): part.gather(into: &lists)
    }
  }

  private static func add(_ list: List, to lists: inout [List]) {
    if !lists.contains(list) { lists.append(list) }
  }

  /// Whether it speaks of anybody: everybody but a few is not to be found in lists.
  package var isEnumerable: Bool { sources { _ in 0 } != nil }

  /// The lists to read so that nobody of whom the expression holds is missed: those with the fewest
  /// users, where there is a choice. Nil where lists do not tell. Sizes are below 2^56.
  package func sources(size: (List) -> Int) -> [List]? { counted(size)?.lists }

  private func counted(_ size: (List) -> Int) -> (lists: [List], users: Int)? {
    switch self {
    case .followers: return ([.followers], size(.followers))
    case .tag(let tag): return ([.tag(tag)], size(.tag(tag)))
    case .and(let parts): return parts.compactMap { $0.counted(size) }.min { $0.users < $1.users }
    case .or(let parts):
      var all: (lists: [List], users: Int) = ([], 0)
      for part in parts {
        guard let part = part.counted(size) else { return nil }
        for list in part.lists where !all.lists.contains(list) { all.lists.append(list) }
        all.users += part.users
      }
      return all
    case .not: return nil
    }
  }

  /// Whether it holds for a user who is in some of the lists.
  package func holds(_ isIn: (List) -> Bool) -> Bool {
    switch self {
    case .followers: isIn(.followers)
    case .tag(let tag): isIn(.tag(tag))
    case .and(let parts): parts.allSatisfy { $0.holds(isIn) }
    case .or(let parts): parts.contains { $0.holds(isIn) }
    case .not(let part): !part.holds(isIn)
    }
  }

  /// The same text for the same expression: what a cooldown knows it by.
  package var text: String {
    switch self {
    case .followers: "followers"
    case .tag(let tag): "tag(\(tag.utf8.count):\(tag))"
    case .and(let parts): "and(\(parts.map(\.text).joined(separator: ",")))"
    case .or(let parts): "or(\(parts.map(\.text).joined(separator: ",")))"
    case .not(let part): "not(\(part.text))"
    }
  }
}
