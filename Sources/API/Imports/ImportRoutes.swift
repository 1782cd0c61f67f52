import Devices
import JSON
import Text

/// Many users at once. Confined to the loop of its jobs.
final class ImportRoutes {
  private let jobs: ImportJobs
  private let options: APIOptions

  init(jobs: ImportJobs, options: APIOptions) {
    self.jobs = jobs
    self.options = options
  }

  static let types = ["application/x-ndjson", "application/jsonl"]

  var routes: [APIRoute] {
    [
      APIRoute(
        "POST", "/v1/imports", .appServer, maximumBodyBytes: options.imports.maximumBytes,
        streamedWithin: options.imports.timeout
      ) { (request) async throws(Problem) in try await self.take(request) },
      APIRoute("GET", "/v1/imports/{import}", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        guard let report = try await self.jobs.report(request["import"]) else {
          throw Self.unknown
        }
        return .ok(report.members)
      },
      APIRoute("DELETE", "/v1/imports/{import}", .appServer) { (request) async throws(Problem) in
        try request.allowArguments([])
        guard try await self.jobs.delete(request["import"]) else { throw Self.unknown }
        return .noContent
      },
    ]
  }

  private static let unknown = Problem(
    .notFound, "no import of this id is known: it was deleted, or ended over a day ago")

  private func take(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(["id", "topic", "strict"])
    try request.requireType(Self.types[0], or: Array(Self.types.dropFirst()))
    let id = try id(of: request)
    let topic = try request.argument("topic")
    if let topic {
      _ = try given { () throws(GivenRefusal) in try Given.topic(topic) }
    }
    let isStrict =
      switch try request.argument("strict") {
      case nil, "false": false
      case "true": true
      default: throw Problem(.invalid, "strict is true or false")
      }
    guard let stream = request.http.stream else {
      throw Problem(.internalError, "the body was read as a whole")
    }
    request.notes.add("import", id)
    let now = options.wallClock()
    let report = try await jobs.run(
      ImportReport(id: id, key: request.key.name, beganAt: now), isStrict: isStrict,
      ImportRowReader(defaultTopic: topic, now: now, rules: options.subscriptions), from: stream,
      onMove: { [notes = request.notes] in notes.addAtOnce("former_user", $0.map(\.from)) })
    var response = APIResponse.ok(report.members)
    response.headers["Location"] = "/v1/imports/\(id)"
    request.notes.add("rows", String(report.counts.rows))
    request.notes.add("refused", String(report.counts.refused))
    return response
  }

  /// The client's, who can ask for it meanwhile, or one that is made up.
  private func id(of request: APIRequest) throws(Problem) -> String {
    guard let id = try request.argument("id") else {
      return jobs.madeUpID()
    }
    guard (1...64).contains(id.utf8.count),
      id.utf8.allSatisfy({ $0.isASCIIWord || "._:-".utf8.contains($0) })
    else { throw Problem(.invalid, "id must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -") }
    return id
  }
}
