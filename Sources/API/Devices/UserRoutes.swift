import Devices
import JSON

/// Profiles, follows, and all of a user. Confined to the loop of its registry.
final class UserRoutes {
  private let registry: DeviceRegistry
  private let audiences: AudienceReader
  private let erasure: UserErasure
  private let erasures: ErasureJobs

  /// - Parameters:
  ///   - erasure: of what is known by name.
  ///   - erasures: of those who are looked for in all of Redis.
  init(
    registry: DeviceRegistry, audiences: AudienceReader, erasure: UserErasure,
    erasures: ErasureJobs
  ) {
    self.registry = registry
    self.audiences = audiences
    self.erasure = erasure
    self.erasures = erasures
  }

  var routes: [APIRoute] {
    let user = "/v1/users/{user}"
    let follow = "/v1/users/{user}/follows/{streamer}"
    return [
      APIRoute("GET", user, .readOnly) { (request) async throws(Problem) in
        try await self.show(request)
      },
      APIRoute("DELETE", user, .appServer) { (request) async throws(Problem) in
        try await self.forget(request)
      },
      APIRoute("GET", "/v1/erasures/{erasure}", .readOnly) { (request) async throws(Problem) in
        try await self.showErasure(request)
      },
      APIRoute("GET", user + "/profile", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        return try await self.profile(of: request["user"])
      },
      APIRoute("PATCH", user + "/profile", .appServer) { (request) async throws(Problem) in
        try await self.change(request)
      },
      APIRoute("PUT", follow, .appServer) { (request) async throws(Problem) in
        try await self.follow(request)
      },
      APIRoute("DELETE", follow, .appServer) { (request) async throws(Problem) in
        try await self.unfollow(request)
      },
      APIRoute("GET", "/v1/audiences/{streamer}", .readOnly) { (request) async throws(Problem) in
        try await self.audience(request)
      },
    ]
  }

  private func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let record = try await done { () async throws(DevicesError) in
      try await self.registry.user(request["user"])
    }
    guard record.isKnown else {
      throw Problem(
        .notFound, "Redis holds nothing of this user; who follows whom stands with the streamers")
    }
    return .ok(
      [("user", .string(record.user))] + DeviceRoutes.members(of: record.devices, for: request)
        + [
          ("profile", Self.json(record.profile)),
          ("events_last_hour", .integer(Int64(record.reached))),
        ])
  }

  private func forget(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["follows", "everywhere"])
    var scope = UserErasure.Scope()
    scope.streamers =
      try request.argument("follows")
      .map {
        // A comma and an accent behind it are one character.
        $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
          .map { String(Substring($0)) }
      } ?? []
    switch try request.argument("everywhere") {
    case nil, "false": break
    case "true": scope.looksEverywhere = true
    default: throw Problem(.invalid, "everywhere is true or false")
    }
    let user = request["user"]
    try given { () throws(GivenRefusal) in
      try Given.user(user)
      for streamer in scope.streamers { try Given.streamer(streamer, as: "follows") }
    }
    request.notes.add("follows", scope.streamers)
    request.notes.add("everywhere", String(scope.looksEverywhere))
    let isLarge = try await done { () async throws(DevicesError) in
      try await self.erasure.isLarge(user)
    }
    var erased = ErasureCounts()
    if !isLarge {
      // From here on no push reaches the user. A look waits for its turn, and takes its time: what
      // is bound meanwhile is a new user's.
      var own = scope
      own.looksEverywhere = false
      erased = try await done { () async throws(DevicesError) in
        try await self.erasure.run(user, own, writes: true)
      }
      guard scope.looksEverywhere else {
        return .ok([("user", .string(user))] + erased.members)
      }
      scope.erasesOwn = false
    }
    switch try await erasures.run(user, scope, after: erased) {
    case .done(let counts): return .ok([("user", .string(user))] + counts.members)
    case .goesOn(let id):
      request.notes.add("erasure", id)
      return APIResponse(
        status: 202,
        body: .object(
          JSONObject([
            ("user", .string(user)), ("complete", .bool(false)), ("erasure", .string(id)),
          ])),
        headers: ["Retry-After": "5", "Location": "/v1/erasures/\(id)"])
    }
  }

  private func showErasure(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    guard let record = try await erasures.record(request["erasure"]) else {
      throw Problem(
        .notFound,
        "no erasure of this id is known: it ended over a day ago, or its process did before it was "
          + "done; DELETE the user again")
    }
    return APIResponse(status: 200, body: .object(record))
  }

  private func profile(of user: String) async throws(Problem) -> APIResponse {
    let profile = try await done { () async throws(DevicesError) in
      try await self.registry.profile(of: user)
    }
    return .ok([("user", .string(user)), ("profile", Self.json(profile))])
  }

  /// As RFC 7396 merges: null takes a field out, what is not named stays.
  private func change(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    try request.requireType("application/json", or: ["application/merge-patch+json"])
    let body = try request.document()
    var changes: [(name: String, value: String?)] = []
    for member in body.members {
      changes.append((member.name, try Self.text(member.name, member.value)))
    }
    let patch = try given { () throws(GivenRefusal) in
      try Given.user(request["user"])
      return try ProfilePatch(changes)
    }
    request.notes.add("fields", changes.map(\.name))
    try await done { () async throws(DevicesError) in
      try await self.registry.change(profileOf: request["user"], patch)
    }
    return try await profile(of: request["user"])
  }

  /// Redis keeps texts; a list is one of lines.
  private static func text(_ name: String, _ value: JSONValue) throws(Problem) -> String? {
    if value.isNull { return nil }
    switch name {
    case ProfilePatch.badge:
      if let number = value.wholeNumber, number <= maximumBadge { return String(number) }
      throw Problem(.invalid, "\(name) is a whole number up to \(maximumBadge), or null")
    case ProfilePatch.muted:
      if let flag = value.bool { return flag ? "true" : "false" }
      throw Problem(.invalid, "\(name) is true, false or null, not \(value.kindName)")
    case ProfilePatch.mutedStreamers:
      let elements = value.array ?? []
      let texts = elements.compactMap(\.string)
      guard value.array != nil, texts.count == elements.count else {
        throw Problem(.invalid, "\(name) is a list of ids of streamers, or null")
      }
      let text = try given { () throws(GivenRefusal) in try ProfilePatch.text(ofMuted: texts) }
      return text.isEmpty ? nil : text
    default:
      if let text = value.string { return text }
      throw Problem(.invalid, "a field of a profile is a string or null, not \(value.kindName)")
    }
  }

  /// 32 bits, which every phone can show.
  static let maximumBadge = Int64(Int32.max)

  private func follow(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let isMuted = request.http.body.isEmpty ? nil : try request.object(["muted"]).flag("muted")
    if let isMuted { request.notes.add("muted", String(isMuted)) }
    let (user, streamer) = try pair(request)
    let isNew = try await done { () async throws(DevicesError) in
      try await self.registry.follow(streamer: streamer, user: user, isMuted: isMuted)
    }
    return .ok([
      ("user", .string(user)), ("streamer", .string(streamer)), ("new", .bool(isNew)),
    ])
  }

  private func unfollow(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let (user, streamer) = try pair(request)
    let followed = try await done { () async throws(DevicesError) in
      try await self.registry.unfollow(streamer: streamer, user: user)
    }
    return .ok([
      ("user", .string(user)), ("streamer", .string(streamer)), ("removed", .bool(followed)),
    ])
  }

  private func pair(_ request: APIRequest) throws(Problem) -> (user: String, streamer: String) {
    try given { () throws(GivenRefusal) in
      (try Given.user(request["user"]), try Given.streamer(request["streamer"]))
    }
  }

  private func audience(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["sample"])
    let limit = try request.integer("sample", in: 0...1000) ?? 0
    let streamer = try given { () throws(GivenRefusal) in
      try Given.streamer(request["streamer"])
    }
    return try await audiences.answer(
      on: streamer, "streamer", users: "followers", sample: limit)
  }

  private static func json(_ profile: UserProfile) -> JSONValue {
    .object(JSONObject(profile.members.map { ($0.name, .string($0.value)) }))
  }
}
