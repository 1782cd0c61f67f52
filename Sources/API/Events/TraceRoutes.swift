import Record
import Traces

/// Why somebody got nothing of an event, or what. Confined to the loop of its reader.
final class TraceRoutes {
  private let record: RecordStage
  private let reader: TraceReader
  private let now: () -> Int64

  init(record: RecordStage, reader: TraceReader, now: @escaping () -> Int64) {
    self.record = record
    self.reader = reader
    self.now = now
  }

  var routes: [APIRoute] {
    [
      APIRoute("GET", "/v1/fanouts/{event}/recipients/{user}", .readOnly) {
        (request) async throws(Problem) in
        try request.allowArguments([])
        return try await self.trace(request)
      }
    ]
  }

  /// Answers with a trace. Only keys that may write to users see the payload and whole tokens.
  private func trace(_ request: APIRequest) async throws(Problem) -> APIResponse {
    let isTrusted = request.isTrusted
    do throws(RecordError) {
      try await record.checkSize(of: request["event"])
    } catch {
      throw Problem(error)
    }
    do throws(TraceError) {
      let trace = try await reader.trace(request["event"], of: request["user"], now: now())
      return APIResponse(
        status: 200, body: trace.json(.init(showsTokens: isTrusted, showsPayload: isTrusted)))
    } catch {
      throw Problem(error)
    }
  }
}

extension Problem {
  fileprivate init(_ error: TraceError) {
    switch error {
    case .unknownEvent, .unknownUser: self.init(.notFound, error.message ?? "")
    case .badUser: self.init(.invalid, error.message ?? "")
    case .record(let error): self.init(error)
    case .devices(let error): self.init(error)
    }
  }
}
