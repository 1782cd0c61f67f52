import JSON
import Keyspace
import Model

/// From an event's `audience` to whom it addresses.
struct AudienceDecoder {
  private static let forms = "tag, users, followers, and, or, not"

  /// - Parameter value: of the member `audience`.
  static func decode(_ value: JSONValue) throws(IngestError) -> EventAudience {
    let member = try onlyMember(value, at: "audience")
    if member.name == "users" { return .users(try users(member.value)) }
    let expression = try expression(member, at: "audience", groups: 0, isNegated: false)
    if expression == .followers { return .followers }
    guard expression.isEnumerable else {
      throw IngestError(
        .badAudience,
        "audience addresses everybody but some: put each not into an and, beside a tag or followers"
      )
    }
    return .matching(expression)
  }

  /// - Parameters:
  ///   - groups: and and or that stand around it.
  ///   - isNegated: a not stands right before it.
  private static func expression(
    _ member: JSONObject.Member, at path: String, groups: Int, isNegated: Bool
  ) throws(IngestError) -> AudienceExpression {
    let path = "\(path).\(member.name)"
    switch member.name {
    case "followers":
      guard member.value.bool == true else {
        throw IngestError(.badAudience, "\(path) is true, or it is not there")
      }
      return .followers
    case "tag":
      guard let tag = member.value.string else {
        throw IngestError(.wrongType, "\(path) is a string, not \(member.value.kindName)")
      }
      guard Keyspace.isTag(tag) else {
        throw IngestError(.badIdentifier, "\(path) must be \(Keyspace.tagRule)")
      }
      return .tag(tag)
    case "and": return .and(try parts(member.value, at: path, groups: groups))
    case "or": return .or(try parts(member.value, at: path, groups: groups))
    case "not":
      guard !isNegated else {
        throw IngestError(.badAudience, "\(path): a not of a not is what stands in it")
      }
      return .not(
        try expression(
          onlyMember(member.value, at: path), at: path, groups: groups, isNegated: true))
    case "users":
      throw IngestError(.badAudience, "users stand alone in audience, not in an and, or or not")
    default:
      throw IngestError(
        .unknownField, "audience has no \(Excerpt.quoted(member.name)): it is one of \(forms)")
    }
  }

  private static func parts(
    _ value: JSONValue, at path: String, groups: Int
  ) throws(IngestError) -> [AudienceExpression] {
    guard let items = value.array else {
      throw IngestError(.wrongType, "\(path) is an array, not \(value.kindName)")
    }
    guard groups < 2 else {
      throw IngestError(.badAudience, "\(path) stands in two others: one is the most")
    }
    let limits = AudienceExpression.maximumParts
    let limit = groups == 0 ? limits.outer : limits.inner
    guard (1...limit).contains(items.count) else {
      throw IngestError(.badAudience, "\(path) has 1 to \(limit) parts, not \(items.count)")
    }
    var parts: [AudienceExpression] = []
    for item in items {
      parts.append(
        try expression(
          onlyMember(item, at: path), at: path, groups: groups + 1, isNegated: false))
    }
    return parts
  }

  private static func onlyMember(
    _ value: JSONValue, at path: String
  ) throws(IngestError) -> JSONObject.Member {
    guard let object = value.object else {
      throw IngestError(.wrongType, "\(path) is an object, not \(value.kindName)")
    }
    guard object.members.count == 1, let member = object.members.first else {
      throw IngestError(.badAudience, "\(path) is an object with one member: one of \(forms)")
    }
    return member
  }

  /// Each user once, in the order in which they were named.
  private static func users(_ value: JSONValue) throws(IngestError) -> [String] {
    guard let items = value.array else {
      throw IngestError(.wrongType, "audience.users is an array, not \(value.kindName)")
    }
    guard (1...EventAudience.maximumUsers).contains(items.count) else {
      throw IngestError(
        .badAudience,
        "audience.users names 1 to \(EventAudience.maximumUsers) users, not \(items.count)")
    }
    var seen: Set<[UInt8]> = []
    var users: [String] = []
    for (index, item) in items.enumerated() {
      guard let user = item.string else {
        throw IngestError(
          .wrongType, "audience.users[\(index)] is a string, not \(item.kindName)")
      }
      guard Keyspace.isIdentifier(user) else {
        throw IngestError(
          .badIdentifier,
          "audience.users[\(index)] must be 1 to 128 bytes without control characters and braces")
      }
      if seen.insert(Array(user.utf8)).inserted { users.append(user) }
    }
    return users
  }
}
