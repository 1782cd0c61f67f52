import JSON
import SimulatorSupport
import TLS
import Text

/// Requests under `/simulator/`, for whoever checks or steers a run, on the same port and with
/// either version of HTTP. They need the header `simulator-token` with what the simulator made up
/// at its start (`WebPushSimulatorAddress.controlToken`).
///
/// | request | answer |
/// |---|---|
/// | `POST /simulator/subscriptions` | makes subscriptions, and shows them as browsers do |
/// | `GET /simulator/ledger[?from=<n>&count=<n>]` | all asked for (`LedgerPage`) |
/// | `POST /simulator/ledger` with `{"endpoint": …}` | counts, status and last message of one |
/// | `GET /simulator/pushes?token=<endpoint>` | the last message for one, decrypted |
/// | `POST /simulator/end` with `{"endpoint": …}` | from now on the subscription is gone |
/// | `GET /simulator/summary` | the numbers of `WebPushSimulatorSummary` |
/// | `POST /simulator/script` | replaces the script (see `WebPushSimulatorScript`) |
/// | `POST /simulator/reset` | forgets ledger and numbers |
///
/// The body of `/simulator/subscriptions`: `host`; `count` (default 1, at most 10,000);
/// `first`: the number of the first one, for subscriptions by number, which cost nothing: without
/// it each one has a key pair and is kept; `application_server_key` (base64url), of those that are
/// kept; `fault` and `tries`, for magic ones.
enum ControlRequests {
  /// Room for a script with 4,000 endpoints.
  static let maximumBodyBytes = 1 << 20
  static let mostSubscriptions = 10_000

  static func answer(_ request: OpenRequest, _ service: SimulatorService) -> ServiceAnswer {
    guard request[.controlToken].withUnsafeBytes(service.access.allows) else {
      return failure(403, "send the header simulator-token: it is in the file control.token")
    }
    guard !request.isTooLong else { return failure(413, "the body is over 1 MiB") }
    let method = String(decoding: request[.method], as: UTF8.self)
    let target = String(decoding: request[.path], as: UTF8.self)
    let sides = target.split(separator: "?", maxSplits: 1)
    let path = String(sides.first ?? "")
    do {
      switch (method, path) {
      case ("GET", "/simulator/summary"): return .json(200, service.summary.json)
      case ("GET", "/simulator/ledger"):
        return LedgerPage(query: sides.count > 1 ? sides[1] : "").answer(service)
      case ("GET", "/simulator/pushes"): return lastPush(sides.count > 1 ? sides[1] : "", service)
      case ("POST", "/simulator/reset"):
        service.reset()
        return .json(200, [:])
      case ("POST", "/simulator/script"):
        service.replaceScript(try WebPushSimulatorScript.parse(request.body))
        return .json(200, [:])
      case ("POST", "/simulator/subscriptions"):
        return .json(200, ["subscriptions": .array(try make(object(request), service))])
      case ("POST", "/simulator/ledger"):
        return .json(200, entry(of: try id(object(request)), service))
      case ("POST", "/simulator/end"):
        service.subscriptions.end(try id(object(request)))
        return .json(200, [:])
      default: return failure(404, "\(method) \(path) is no request of the simulator's")
      }
    } catch {
      return failure(400, "\(error)")
    }
  }

  private static func failure(_ status: Int, _ message: String) -> ServiceAnswer {
    .json(status, ["message": .string(message)])
  }

  private static func object(_ request: OpenRequest) throws(SimulatorError) -> JSONObject {
    guard let object = (try? JSONValue.parse(request.body))?.object else {
      throw SimulatorError(.badOption, "the body is not a JSON object")
    }
    return object
  }

  private static func id(_ object: JSONObject) throws(SimulatorError) -> [UInt8] {
    guard let id = object["endpoint"]?.string.flatMap(Subscriptions.id) else {
      throw SimulatorError(.badOption, "endpoint must be the address of a subscription")
    }
    return id
  }

  /// - Parameter query: `token=` and an endpoint, percent-encoded.
  private static func lastPush(_ query: Substring, _ service: SimulatorService) -> ServiceAnswer {
    let value = query.split(separator: "&").first { $0.hasPrefix("token=") }?.dropFirst(6) ?? ""
    let bytes = Array(value.utf8).withUnsafeBytes { PercentText.decoded($0, isStrict: true) }
    let endpoint = String(decoding: bytes ?? [], as: UTF8.self)
    guard let id = Subscriptions.id(ofEndpoint: endpoint), let entry = service.ledger.find(id),
      let message = service.ledger.body(of: id)
    else { return failure(404, "no message for this endpoint is kept") }
    return .json(
      200,
      [
        "token": .string(endpoint), "status": .integer(Int64(entry.lastStatus)),
        "message": .string(String(decoding: message, as: UTF8.self)),
      ])
  }

  private static func entry(of id: [UInt8], _ service: SimulatorService) -> JSONValue {
    let entry = service.ledger.find(id) ?? DeviceLedger.Entry()
    let message = service.ledger.body(of: id).map { JSONValue.string(Base64URL.encode($0)) }
    return [
      "requests": .integer(Int64(entry.requests)), "accepted": .integer(Int64(entry.accepted)),
      "last_status": .integer(Int64(entry.lastStatus)), "last_message": message ?? .null,
    ]
  }

  private static func make(
    _ object: JSONObject, _ service: SimulatorService
  ) throws -> [JSONValue] {
    let host = try ScriptValues.text(object["host"] ?? .null, "host")
    let most = Int64(mostSubscriptions)
    let count = try ScriptValues.count("count", object["count"] ?? 1, from: 1, to: most)
    let magic = try magic(object)
    let key = try applicationServerKey(object)
    let subscriptions = service.subscriptions
    guard let first = object["first"] else {
      return try (0..<count).map { _ in
        try subscriptions.make(host: host, applicationServerKey: key, magic).json
      }
    }
    let number = try ScriptValues.count("first", first, from: 0)
    return try (number..<number + count).map {
      try subscriptions.numbered.subscription($0, host: host, magic).json
    }
  }

  private static func magic(_ object: JSONObject) throws(SimulatorError) -> MagicFault? {
    guard let name = object["fault"] else { return nil }
    let tries = try ScriptValues.count("tries", object["tries"] ?? 0, from: 0)
    return MagicFault(try ScriptValues.fault(name, "fault"), tries: tries)
  }

  private static func applicationServerKey(
    _ object: JSONObject
  ) throws(SimulatorError) -> [UInt8]? {
    guard let value = object["application_server_key"] else { return nil }
    guard let key = value.string.flatMap({ Base64URL.decode($0.utf8) }), P256KeyPair.isPoint(key)
    else {
      throw ScriptValues.wrong("application_server_key", "a point of P-256 in base64url")
    }
    return key
  }
}
