import Devices
import JSON
import Model
import Subscriptions

/// Devices at log-in and log-out. Confined to the loop of its registry.
final class DeviceRoutes {
  private let registry: DeviceRegistry
  private let rules: SubscriptionRules
  private let now: () -> Int64

  /// - Parameter rules: which browsers' subscriptions are taken.
  init(registry: DeviceRegistry, rules: SubscriptionRules, now: @escaping () -> Int64) {
    self.registry = registry
    self.rules = rules
    self.now = now
  }

  var routes: [APIRoute] {
    let device = "/v1/users/{user}/devices/{token}"
    let android = "/v1/users/{user}/devices/fcm/{fcm_token}"
    let browser = "/v1/users/{user}/devices/webpush/{endpoint}"
    return [
      APIRoute("GET", "/v1/users/{user}/devices", .readOnly) { (request) async throws(Problem) in
        try await self.list(request)
      },
      APIRoute("PUT", device, .appServer) { (request) async throws(Problem) in
        try await self.bind(request, on: .apns)
      },
      APIRoute("DELETE", device, .appServer) { (request) async throws(Problem) in
        try await self.unbind(request, on: .apns)
      },
      APIRoute("PUT", android, .appServer) { (request) async throws(Problem) in
        try await self.bind(request, on: .fcm)
      },
      APIRoute("DELETE", android, .appServer) { (request) async throws(Problem) in
        try await self.unbind(request, on: .fcm)
      },
      APIRoute("PUT", browser, .appServer) { (request) async throws(Problem) in
        try await self.subscribe(request)
      },
      APIRoute("DELETE", browser, .appServer) { (request) async throws(Problem) in
        try await self.unbind(request, on: .webpush)
      },
    ]
  }

  private func list(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let devices = try await done { () async throws(DevicesError) in
      try await self.registry.devices(of: request["user"])
    }
    return .ok(Self.members(of: devices, for: request))
  }

  static func members(
    of devices: UserDevices, for request: APIRequest
  ) -> [(String, JSONValue)] {
    func token(_ binding: Binding) -> String {
      request.isTrusted ? binding.token : binding.shortToken
    }
    return [
      (
        "devices",
        .array(
          devices.bound.map { json($0.binding, token($0.binding), boundAt: $0.boundAt) })
      ),
      (
        "set_aside",
        .array(
          devices.setAside.map {
            json($0.binding, token($0.binding), boundAt: nil, reason: $0.reason)
          })
      ),
    ]
  }

  /// A log-in, or the launch of an app. Its token may be another than last time: then the app sends
  /// both, and the old one is replaced in one step.
  private func bind(
    _ request: APIRequest, on platform: Platform
  ) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let body = try request.object(
      Set(["topic", "replaces", "bound_at_ms"] + Self.environment(of: platform)))
    let user = request["user"]
    let topic = try body.required("topic")
    let environment = try body.text("environment")
    let old = try body.text("replaces")
    let (at, isBelated) = (try time(body), body["bound_at_ms"] != nil)
    let (binding, former) = try given { () throws(GivenRefusal) in
      try Given.user(user)
      let environment =
        try environment.map { (name) throws(GivenRefusal) in try Given.environment(name) }
        ?? Destination.all(of: platform)[0]
      let binding = try Given.binding(
        token: request[Self.tokenName(platform)], topic: topic, environment: environment)
      let former: Binding? =
        if let old {
          try Given.binding(
            token: old, topic: topic, environment: environment, tokenName: "replaces")
        } else {
          nil
        }
      return (binding, former)
    }
    return try await bind(request, binding, former: former, at: at, isBelated: isBelated)
  }

  private func bind(
    _ request: APIRequest, _ binding: Binding, former: Binding?, at: Int64, isBelated: Bool
  ) async throws(Problem) -> APIResponse {
    let user = request["user"]
    request.notes.add("topic", binding.topic)
    // The former user has lost the token even where the rest of the request fails.
    let lost = { (moves: [DeviceMove]) in request.notes.add("former_user", moves.map(\.from)) }
    var members: [(String, JSONValue)] = [("user", .string(user))]
    if let former, former != binding {
      request.notes.add("replaces", token: former.token)
      let wasThere = try await done { () async throws(DevicesError) in
        try await self.registry.replace(
          user: user, former, with: binding, at: at, isBelated: isBelated, onMove: lost)
      }
      members.append(("replaced", .bool(wasThere)))
    } else {
      let isNew = try await done { () async throws(DevicesError) in
        try await self.registry.bind(
          user: user, binding, at: at, isBelated: isBelated, onMove: lost)
      }
      members.append(("new", .bool(isNew)))
    }
    members.append(("device", Self.json(binding, binding.token, boundAt: at)))
    return .ok(members)
  }

  /// A page that a browser loads, or its service worker, sends the subscription that it has. Its
  /// endpoint or its keys may be others than last time.
  private func subscribe(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    let body = try request.object(["topic", "keys", "vapid_key", "replaces", "bound_at_ms"])
    guard let keys = body["keys"]?.object,
      keys.members.allSatisfy({ ["p256dh", "auth"].contains($0.name) })
    else { throw Problem(.invalid, "keys is an object with p256dh and auth") }
    let (topic, keyID) = (try body.required("topic"), try body.text("vapid_key"))
    let (p256dh, auth) = (try keys.required("p256dh"), try keys.required("auth"))
    let old = try body.text("replaces")
    let at = try time(body)
    try given { () throws(GivenRefusal) in
      try Given.user(request["user"])
      try Given.topic(topic)
    }
    let subscription: BrowserSubscription
    let former: Binding?
    do throws(BrowserSubscription.Problem) {
      subscription = try BrowserSubscription(
        topic: topic, endpoint: request["endpoint"], p256dh: p256dh, auth: auth, keyID: keyID,
        rules: rules)
      former = try old.map { (endpoint) throws(BrowserSubscription.Problem) in
        try subscription.former(endpoint: endpoint, rules: rules)
      }
    } catch {
      throw Problem(.invalid, "\(error)")
    }
    return try await bind(
      request, subscription.binding, former: former, at: at,
      isBelated: body["bound_at_ms"] != nil)
  }

  /// When the app registered, for a backend that sends what it has kept: later words count more.
  private func time(_ body: JSONObject) throws(Problem) -> Int64 {
    guard let value = body["bound_at_ms"] else { return now() }
    guard let at = value.wholeNumber else {
      throw Problem(.invalid, "bound_at_ms is ms since 1970")
    }
    return try given { () throws(GivenRefusal) in
      try Given.boundAt(at, as: "bound_at_ms", now: self.now())
    }
  }

  /// A log-out. Said twice it is done once.
  private func unbind(
    _ request: APIRequest, on platform: Platform
  ) async throws(Problem) -> APIResponse {
    try request.allowArguments(Set(["topic"] + Self.environment(of: platform)))
    let topic = try request.argument("topic")
    let name = try request.argument("environment")
    let (token, environment) = try given { () throws(GivenRefusal) in
      try Given.user(request["user"])
      if let topic { try Given.topic(topic) }
      let environment: Destination? =
        if let name { try Given.environment(name) } else { nil }
      return (try Given.token(request[Self.tokenName(platform)], of: platform), environment)
    }
    let count = try await done { () async throws(DevicesError) in
      try await self.registry.unbind(
        user: request["user"], token: token, topic: topic, environment: environment)
    }
    return .ok([("user", .string(request["user"])), ("removed", .integer(Int64(count)))])
  }

  /// The name of the member that says which environment a device is of, where there are several.
  private static func environment(of platform: Platform) -> [String] {
    platform.environments.isEmpty ? [] : ["environment"]
  }

  /// The name of a path's placeholder.
  private static func tokenName(_ platform: Platform) -> String {
    switch platform {
    case .apns: "token"
    case .webpush: "endpoint"
    default: "fcm_token"
    }
  }

  private static func json(
    _ binding: Binding, _ token: String, boundAt: Int64?, reason: String? = nil
  ) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("platform", .string(binding.destination.platform.name)), ("token", .string(token)),
      ("topic", .string(binding.topic)),
    ]
    if let environment = binding.destination.environment {
      members.append(("environment", .string(environment)))
    }
    if let boundAt { members.append(("bound_at_ms", .integer(boundAt))) }
    if let reason { members.append(("reason", .string(reason))) }
    return .object(JSONObject(members))
  }
}
