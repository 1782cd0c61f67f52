import Ingest
import JSON
import Model
import Record

/// Routes that report fan-outs, and pause, resume, cancel and reschedule them. Confined to the
/// loop.
final class FanOutRoutes {
  private let record: RecordStage
  private let maximumSendAhead: Duration
  private let now: () -> Int64

  /// - Parameter maximumSendAhead: how far ahead an event may be sent.
  init(record: RecordStage, maximumSendAhead: Duration, now: @escaping () -> Int64) {
    self.record = record
    self.maximumSendAhead = maximumSendAhead
    self.now = now
  }

  var routes: [APIRoute] {
    [
      APIRoute("GET", "/v1/fanouts", .readOnly) { (request) async throws(Problem) in
        try await self.list(request)
      },
      APIRoute("GET", "/v1/fanouts/{event}", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        return APIResponse(status: 200, body: try await self.status(of: request["event"]))
      },
      halt("pause", .paused), halt("resume", nil), halt("cancel", .cancelled),
      APIRoute("POST", "/v1/fanouts/{event}/reschedule", .admin) {
        (request) async throws(Problem) in
        try await self.reschedule(request)
      },
    ]
  }

  private func list(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["limit"])
    let limit = try request.integer("limit", in: 1...1000) ?? 20
    do throws(RecordError) {
      let fanOuts = try await record.latestFanOuts(atMost: limit, checksSizes: true)
      return .ok([("fanouts", .array(fanOuts.map { Self.json($0.event, $0.status) }))])
    } catch {
      throw Problem(error)
    }
  }

  private func status(of event: String) async throws(Problem) -> JSONValue {
    let status: FanOutStatus?
    do throws(RecordError) {
      try await record.checkSize(of: event)
      status = try await record.status(of: event)
    } catch {
      throw Problem(error)
    }
    guard let status else { throw Self.unknown }
    return Self.json(event, status)
  }

  private func halt(_ word: String, _ halt: Halt?) -> APIRoute {
    APIRoute("POST", "/v1/fanouts/{event}/\(word)", .admin) {
      (request) async throws(Problem) in
      try request.allowArguments([])
      var reason = ""
      if !request.http.body.isEmpty { reason = try request.reason(in: request.object(["reason"])) }
      try await self.set(
        halt, of: request["event"], halt == nil ? "" : reason, by: request.key.name)
      return APIResponse(status: 200, body: try await self.status(of: request["event"]))
    }
  }

  private func reschedule(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    guard let value = try request.object(["send_at"])["send_at"] else {
      throw Problem(.invalid, "send_at is missing")
    }
    let event = request["event"]
    let sendAt: SendTime
    do throws(IngestError) {
      sendAt = try SendTimeDecoder.decode(value)
    } catch {
      throw Problem(.invalid, error.reason, reason: error.code.rawValue)
    }
    request.notes.add("send_at", sendAt.text)
    let result: RescheduleResult
    do throws(RecordError) {
      try await record.checkSize(of: event)
      result = try await record.reschedule(event, to: sendAt, ahead: maximumSendAhead)
    } catch {
      throw Problem(error)
    }
    switch result {
    case .done: return APIResponse(status: 200, body: try await status(of: event))
    case .begun(let state):
      throw Problem(.conflict, "it is \(state): its time can no longer be changed")
    case .cancelledBefore: throw Problem(.conflict, "it is cancelled: it is not sent at any time")
    case .tooLate(let latest):
      throw Problem(.invalid, "it can be sent at \(SendTime.at(latest).text) at the latest")
    case .tooEarly(let expiredAt):
      throw Problem(
        .invalid,
        "it would have expired at \(SendTime.at(expiredAt).text), and reach nobody: "
          + "give a later time, or cancel it")
    case .unknown: throw Self.unknown
    }
  }

  private func set(
    _ halt: Halt?, of event: String, _ reason: String, by name: String
  ) async throws(Problem) {
    let result: HaltResult
    do throws(RecordError) {
      // Whose state cannot be told is not stopped either.
      try await record.checkSize(of: event)
      result = try await record.setHalt(halt, of: event, reason: reason, by: name, now: now())
    } catch {
      throw Problem(error)
    }
    switch result {
    case .done, .already: return
    case .cancelledBefore:
      throw Problem(.conflict, "it is cancelled: it cannot go on, nor be paused")
    case .ended(let state):
      throw Problem(.conflict, "it is \(state): there is nothing left to stop")
    case .unknown: throw Self.unknown
    }
  }

  static let unknown = Problem(
    .notFound,
    "Redis knows no such event: no worker has read it yet, or it began over 7 days ago")

  /// The fields that `fanfare fanout status --json` prints.
  private static func json(_ event: String, _ status: FanOutStatus) -> JSONValue {
    var members: [(String, JSONValue)] = [("event", .string(event))]
    for (name, text) in status.texts { members.append((name, .string(text))) }
    let known = Set(members.map(\.0))
    for (name, number) in status.numbers.sorted(by: { $0.key < $1.key }) where !known.contains(name)
    {
      members.append((name, .integer(Int64(number))))
    }
    return .object(JSONObject(members))
  }
}
