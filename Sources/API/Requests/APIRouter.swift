/// Finds the route of a path and a method.
struct APIRouter {
  enum Match {
    case route(APIRoute, names: [String: String])
    /// The path is there, for these methods.
    case methods([String])
    case nothing
  }

  /// Those with the fewest placeholders first: a path that a pattern spells out is no value of
  /// another's placeholder (OpenAPI, "Path Templating Matching").
  let routes: [APIRoute]
  private let patterns: [[Part]]

  private enum Part {
    case word(String)
    case name(String)
  }

  init(_ routes: [APIRoute]) {
    let routes = routes.sorted {
      $0.pattern.count { $0 == "{" } < $1.pattern.count { $0 == "{" }
    }
    self.routes = routes
    patterns = routes.map { route in
      // Of `/` the only part is empty.
      guard route.pattern != "/" else { return [.word("")] }
      return route.pattern.split(separator: "/").map { part in
        part.hasPrefix("{") ? .name(String(part.dropFirst().dropLast())) : .word(String(part))
      }
    }
  }

  /// HEAD is what GET would say.
  func match(_ method: String, _ segments: [String]) -> Match {
    var methods: [String] = []
    var fewest: Int?
    for index in routes.indices where Self.fits(patterns[index], segments) {
      let names = Self.nameCount(patterns[index])
      guard names == fewest ?? names else { break }
      fewest = names
      let route = routes[index]
      if route.method == method || (method == "HEAD" && route.method == "GET") {
        return .route(route, names: Self.names(patterns[index], segments))
      }
      methods.append(route.method)
    }
    return methods.isEmpty ? .nothing : .methods(methods.sorted())
  }

  private static func nameCount(_ pattern: [Part]) -> Int {
    pattern.count { if case .name = $0 { true } else { false } }
  }

  /// The route, if it is one whose body is read while it comes.
  func streamed(_ method: String, _ segments: [String]) -> APIRoute? {
    routes.indices.first {
      routes[$0].streamedWithin != nil && routes[$0].method == method
        && Self.fits(patterns[$0], segments)
    }.map { routes[$0] }
  }

  private static func fits(_ pattern: [Part], _ segments: [String]) -> Bool {
    guard pattern.count == segments.count else { return false }
    for index in pattern.indices {
      switch pattern[index] {
      case .word(let word): if word != segments[index] { return false }
      case .name: if segments[index].isEmpty { return false }
      }
    }
    return true
  }

  private static func names(_ pattern: [Part], _ segments: [String]) -> [String: String] {
    var names: [String: String] = [:]
    for (part, segment) in zip(pattern, segments) {
      if case .name(let name) = part { names[name] = segment }
    }
    return names
  }
}
