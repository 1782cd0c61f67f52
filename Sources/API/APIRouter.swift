/// Finds the route of a path and a method.
struct APIRouter {
  enum Match {
    case route(APIRoute, names: [String: String])
    /// The path is there, for these methods.
    case methods([String])
    case nothing
  }

  let routes: [APIRoute]
  private let patterns: [[Part]]

  private enum Part {
    case word(String)
    case name(String)
  }

  init(_ routes: [APIRoute]) {
    self.routes = routes
    patterns = routes.map { route in
      route.pattern.split(separator: "/").map { part in
        part.hasPrefix("{") ? .name(String(part.dropFirst().dropLast())) : .word(String(part))
      }
    }
  }

  /// HEAD is what GET would say.
  func match(_ method: String, _ segments: [String]) -> Match {
    var methods: [String] = []
    for (route, pattern) in zip(routes, patterns) {
      guard let names = Self.names(pattern, segments) else { continue }
      if route.method == method || (method == "HEAD" && route.method == "GET") {
        return .route(route, names: names)
      }
      methods.append(route.method)
    }
    return methods.isEmpty ? .nothing : .methods(methods.sorted())
  }

  private static func names(_ pattern: [Part], _ segments: [String]) -> [String: String]? {
    guard pattern.count == segments.count else { return nil }
    var names: [String: String] = [:]
    for (part, segment) in zip(pattern, segments) {
      switch part {
      case .word(let word): if word != segment { return nil }
      case .name(let name):
        if segment.isEmpty { return nil }
        names[name] = segment
      }
    }
    return names
  }
}
