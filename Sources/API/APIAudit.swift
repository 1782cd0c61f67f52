import HTTPServer
import Telemetry

/// The audit lines of requests: one for each change, and one for each request that was refused for
/// want of a key or a scope.
struct APIAudit: Sendable {
  let log: Log
  let shared: APISharedState

  func tell(
    _ request: APIRequest, _ route: APIRoute, _ status: Int, nanoseconds: UInt64
  ) {
    var fields = head(request.id, request.key.name, request.http, route)
    fields["status"] = .integer(status)
    fields["micros"] = .integer(Int(nanoseconds / 1000))
    add(request.names, to: &fields)
    var further: [(name: String, pieces: ArraySlice<String>)] = []
    for (name, value) in request.notes.all {
      switch value {
      case .text(let text): fields[name] = .text(text)
      case .token(let token): fields[name] = log.label(token)
      case .list(let list):
        let pieces = AuditNotes.pieces(of: list)
        fields[name] = .text(pieces[0])
        further.append((name, pieces.dropFirst()))
      }
    }
    log.info("change", fields)
    let request = head(request.id, request.key.name, request.http, route)
    for (name, pieces) in further { tellFurther(name, pieces, of: request) }
  }

  /// Lists that are too long to be kept are told while the request is worked on.
  func follow(_ request: APIRequest, _ route: APIRoute) {
    let head = head(request.id, request.key.name, request.http, route)
    request.notes.writeAtOnce { [self] name, list in
      tellFurther(name, AuditNotes.pieces(of: list)[...], of: head)
    }
  }

  private func tellFurther(
    _ name: String, _ pieces: ArraySlice<String>, of request: LogFields
  ) {
    for piece in pieces {
      var fields = request
      fields[name] = .text(piece)
      log.info("change goes on", fields)
    }
  }

  /// - Parameters:
  ///   - key: whose scope does not do; nil: none that is good was shown.
  func tellRefusal(
    _ id: String, _ key: APIKey?, _ request: HTTPRequest, _ route: APIRoute,
    _ names: [String: String], _ status: Int, now: UInt64
  ) {
    let somebody = key.map { RefusedRequests.Somebody.key($0.name) } ?? .stranger(request.peer)
    guard shared.refused.withLock({ $0.admit(somebody, now: now) }) else { return }
    var fields = head(id, key?.name ?? "-", request, route)
    fields["status"] = .integer(status)
    fields["peer"] = .text(request.peer.description)
    add(names, to: &fields)
    log.info("refused", fields)
  }

  private func head(
    _ id: String, _ key: String, _ request: HTTPRequest, _ route: APIRoute
  ) -> LogFields {
    [
      "request": .text(id), "key": .text(key), "method": .text(request.method),
      "route": .text(route.pattern),
    ]
  }

  private func add(_ names: [String: String], to fields: inout LogFields) {
    for (name, value) in names.sorted(by: { $0.key < $1.key }) {
      fields[name] = name == "token" ? log.label(value) : .text(value)
    }
  }
}
