import Devices
import JSON

/// Tags: sets of users that an event can address. Confined to the loop of its registry.
final class TagRoutes {
  private let registry: DeviceRegistry
  private let tags: AudienceReader

  /// - Parameter tags: reads the lists of tags.
  init(registry: DeviceRegistry, tags: AudienceReader) {
    self.registry = registry
    self.tags = tags
  }

  var routes: [APIRoute] {
    let one = "/v1/users/{user}/tags/{tag}"
    return [
      APIRoute("PUT", one, .appServer) { (request) async throws(Problem) in
        try await self.change(request, isOn: true)
      },
      APIRoute("DELETE", one, .appServer) { (request) async throws(Problem) in
        try await self.change(request, isOn: false)
      },
      APIRoute("GET", "/v1/tags/{tag}", .readOnly) { (request) async throws(Problem) in
        try await self.show(request)
      },
      APIRoute("PATCH", "/v1/tags/{tag}", .appServer, maximumBodyBytes: Self.maximumBodyBytes) {
        (request) async throws(Problem) in try await self.changeMany(request)
      },
    ]
  }

  /// Twice as many ids as one call takes, each written as escapes.
  static let maximumBodyBytes = 2 * DeviceRegistry.maximumTagged * 6 * 132

  private func change(_ request: APIRequest, isOn: Bool) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let (user, tag) = try given { () throws(GivenRefusal) in
      (try Given.user(request["user"]), try Given.tag(request["tag"]))
    }
    let changed = try await done { () async throws(DevicesError) in
      try await self.registry.tag(tag, users: [user], isOn: isOn)
    }
    return .ok([
      ("user", .string(user)), ("tag", .string(tag)),
      (isOn ? "new" : "removed", .bool(changed == 1)),
    ])
  }

  private func changeMany(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let body = try request.object(["add", "remove"])
    let tag = try given { () throws(GivenRefusal) in try Given.tag(request["tag"]) }
    let (add, remove) = (try users(body, "add"), try users(body, "remove"))
    request.notes.add("added", add)
    request.notes.add("removed", remove)
    let added = try await done { () async throws(DevicesError) in
      try await self.registry.tag(tag, users: add)
    }
    let removed = try await done { () async throws(DevicesError) in
      try await self.registry.tag(tag, users: remove, isOn: false)
    }
    return .ok([
      ("tag", .string(tag)), ("added", .integer(Int64(added))),
      ("removed", .integer(Int64(removed))),
    ])
  }

  private func users(_ body: JSONObject, _ name: String) throws(Problem) -> [String] {
    guard let value = body[name] else { return [] }
    let users = (value.array ?? []).compactMap(\.string)
    guard let all = value.array, users.count == all.count else {
      throw Problem(.invalid, "\(name) is a list of ids of users")
    }
    guard users.count <= DeviceRegistry.maximumTagged else {
      throw Problem(.invalid, "\(name) names at most \(DeviceRegistry.maximumTagged) users")
    }
    try given { () throws(GivenRefusal) in for user in users { try Given.user(user, as: name) } }
    return users
  }

  private func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["sample"])
    let limit = try request.integer("sample", in: 0...1000) ?? 0
    let tag = try given { () throws(GivenRefusal) in try Given.tag(request["tag"]) }
    return try await tags.answer(on: tag, "tag", users: "users", sample: limit)
  }
}
