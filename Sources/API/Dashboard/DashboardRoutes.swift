import Dashboard
import Devices
import HTTPServer
import Keyspace
import Redis
import Text

/// The dashboard: its page, and the views that it shows. Confined to the loop of its registry.
final class DashboardRoutes {
  private let dashboard: Dashboard
  private let registry: DeviceRegistry
  private let redis: RedisClient
  private let keyspace: Keyspace
  /// nil: there are no keys.
  private let streams: StreamLimit?

  init(
    dashboard: Dashboard, registry: DeviceRegistry, redis: RedisClient, keyspace: Keyspace,
    streams: StreamLimit?
  ) {
    self.dashboard = dashboard
    self.registry = registry
    self.streams = streams
    self.redis = redis
    self.keyspace = keyspace
  }

  var routes: [APIRoute] {
    [
      APIRoute("GET", "/v1/live/fanouts", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments(["limit"])
        let limit = try request.integer("limit", in: 1...1_000) ?? 100
        return try await self.show(.fanOuts(limit: limit), request)
      },
      APIRoute("GET", "/v1/live/fanouts/{event}", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        return try await self.show(.fanOut(ExactText(request["event"])), request)
      },
      APIRoute("GET", "/v1/live/health", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        return try await self.show(.health, request)
      },
      APIRoute("GET", "/v1/live/templates", .readOnly) { (request) async throws(Problem) in
        try await self.templates(request)
      },
    ]
  }

  /// The page's own files, which are no part of what is documented for programs.
  var pages: [APIRoute] {
    [
      APIRoute("GET", "/", nil) { (request) async throws(Problem) in
        try Self.file("index.html", request)
      },
      APIRoute("GET", "/dashboard/config", nil) { (_) async throws(Problem) in
        Self.json(self.dashboard.configuration)
      },
      APIRoute("GET", "/dashboard/{file}", nil) { (request) async throws(Problem) in
        try Self.file(request["file"], request)
      },
    ]
  }

  private static func file(
    _ name: String, _ request: APIRequest
  ) throws(Problem) -> APIResponse {
    let known = request.http.headers["if-none-match"]
    guard let response = DashboardPage.response(to: name, known: known) else {
      throw Problem(.notFound, "the dashboard has no such file")
    }
    return APIResponse(whole: response)
  }

  private static func json(_ bytes: [UInt8]) -> APIResponse {
    APIResponse(
      whole: HTTPResponse(status: 200, contentType: "application/json", body: bytes))
  }

  /// A view as it is, or, for who accepts server-sent events, as it changes.
  private func show(
    _ view: DashboardView, _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    switch await dashboard.look(at: view) {
    case .unknown: throw FanOutRoutes.unknown
    case .unreadable(let why): throw Problem(.unavailable, why, headers: ["Retry-After": "1"])
    case .state(let state):
      guard request.http.headers["accept"]?.contains("text/event-stream") == true else {
        return Self.json(state)
      }
      // A proxy that collects what it passes on would show nothing for long.
      var response = HTTPResponse(
        status: 200, contentType: "text/event-stream", headers: ["X-Accel-Buffering": "no"],
        body: [])
      let key = request.key.name
      if let why = streams?.take(key) {
        throw Problem(
          .tooManyRequests, "\(why): end one, or come again", headers: ["Retry-After": "5"])
      }
      response.stream = await dashboard.open(view, from: state) { [streams] in
        streams?.release(key)
      }
      return APIResponse(whole: response)
    }
  }

  private func templates(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["user", "event"])
    let user = try request.argument("user")
    let event = try request.argument("event")
    guard user != nil || event != nil else { return try await show(.templates, request) }
    // A user's text shows the profile.
    guard user == nil || request.isTrusted else {
      throw Problem(.forbidden, "texts for one user need a key of scope app-server")
    }
    let document = try await event.map { (event) async throws(Problem) in
      try await self.document(of: event)
    }
    let profile = try await user.map { (user) async throws(Problem) in
      try await self.profile(of: user)
    }
    return Self.json(await dashboard.templates(document: document, profile: profile))
  }

  private func document(of event: String) async throws(Problem) -> [UInt8] {
    let replies = try await redis.ask(["GET", keyspace.document(event: event)])
    guard let bytes = replies[0].bytes else {
      throw Problem(
        .notFound,
        "the event is not kept: it is unknown, older than 7 days, or events.trace is none")
    }
    return Array(bytes)
  }

  private func profile(of user: String) async throws(Problem) -> [(name: String, value: String)] {
    try await done { () async throws(DevicesError) in
      try await self.registry.user(user).profile.members.map { ($0.name, $0.value) }
    }
  }
}

extension Optional {
  fileprivate func map<T>(
    _ body: (Wrapped) async throws(Problem) -> T
  ) async throws(Problem) -> T? {
    guard let self else { return nil }
    return try await body(self)
  }
}
