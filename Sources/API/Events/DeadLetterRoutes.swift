import DeadLetters
import EventLoop
import Ingest
import JSON
import Kafka
import Redis
import Text

/// Routes that list and show dead letters, and replay and drop them. Confined to the loop.
final class DeadLetterRoutes {
  private let desk: DeadLetterDesk
  private let marks: LetterMarks
  private let finder: LetterFinder
  private let judge: LetterJudge
  private let acts: LetterActs
  private let options: APIOptions
  private let loop: EventLoop

  /// Letters that a request may name.
  static let maximumLetters = 1_000

  init(
    _ options: APIOptions, _ shared: APISharedState, redis: RedisClient, loop: EventLoop
  ) {
    self.options = options
    self.loop = loop
    desk = shared.deadLetters
    marks = LetterMarks(redis: redis, keyspace: options.keyspace)
    finder = options.letterFinder
    judge = LetterJudge(options.ingest, templateProblem: options.templateProblem)
    let writer = shared.events
    acts = LetterActs(desk.topic, judge: judge, marks: marks, now: options.wallClock) {
      (record) async throws(KafkaError) in
      _ = try await writer.send(to: record.topic, key: record.key, record.value, record.headers)
    }
  }

  /// A corrected event is a text in JSON, where every byte may take two.
  static func maximumBodyBytes(_ ingest: IngestOptions) -> Int {
    max(APIRoute.usualBodyBytes, 2 * ingest.maximumEventBytes + 4_096)
  }

  var routes: [APIRoute] {
    let limit = Self.maximumBodyBytes(options.ingest)
    return [
      APIRoute("GET", "/v1/dead-letters", .readOnly) { (request) async throws(Problem) in
        try await self.list(request)
      },
      APIRoute("GET", "/v1/dead-letters/{letter}", .readOnly) { (request) async throws(Problem) in
        try request.allowArguments([])
        return try await self.show(request)
      },
      APIRoute("POST", "/v1/dead-letters/replay", .admin, maximumBodyBytes: limit) {
        (request) async throws(Problem) in try await self.act(.replay, request)
      },
      APIRoute("POST", "/v1/dead-letters/drop", .admin) { (request) async throws(Problem) in
        try await self.act(.drop, request)
      },
    ]
  }

  // MARK: reading

  private func list(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments(Set(LetterFilter.names + ["limit"]))
    let limit = try request.integer("limit", in: 1...1000) ?? 100
    let search = try await search(LetterFilter(request))
    return .ok([
      ("letters", .array(search.rows.prefix(limit).map { .object(JSONObject(Self.json($0))) })),
      ("matched", .integer(Int64(search.matched))), ("scanned", .integer(Int64(search.scanned))),
      ("window", .string(search.window)),
    ])
  }

  private func search(_ filter: LetterFilter) async throws(Problem) -> LetterSearch {
    let scan: LetterScan
    do throws(KafkaError) {
      scan = try await desk.scan()
    } catch {
      throw Problem(error)
    }
    let known: [LetterID: LetterMark]
    do throws(RedisError) {
      known = try await marks.marks(of: scan.letters)
    } catch {
      throw Problem(error)
    }
    do throws(DeadLettersError) {
      return try await finder.find(filter, in: scan, marks: known)
    } catch {
      throw Problem(error)
    }
  }

  private func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard let id = LetterID(request["letter"]) else {
      throw Problem(.invalid, "a letter is <partition>:<offset>, such as 0:12")
    }
    let letter: KafkaMessage?
    do throws(KafkaError) {
      letter = try await desk.record(id)
    } catch {
      throw Problem(error)
    }
    guard let letter else { throw Problem(.notFound, "Kafka has no such letter, or no longer") }
    let summary = LetterSummary(letter)
    let mark: LetterMark
    do throws(RedisError) {
      mark = try await marks.marks(of: [summary])[id] ?? .new
    } catch {
      throw Problem(error)
    }
    let preview = judge.judge(letter, now: options.wallClock()).preview
    return .ok(
      Self.json(.init(letter: summary, mark: mark))
        + [("source", .string(summary.source)), ("headers", Self.headers(letter))]
        + body(of: letter, request)
        + [
          (
            "preview",
            .object(
              JSONObject([("fits", .bool(preview.fits)), ("why", .string(preview.why))]))
          )
        ])
  }

  /// Of a name that comes twice the last value, as Fanfare's own headers come last.
  private static func headers(_ letter: KafkaMessage) -> JSONValue {
    var headers = JSONObject()
    for header in letter.headers.prefix(100) {
      let name = String(decoding: header.name.utf8.prefix(256), as: UTF8.self)
      headers[name] = .string(LetterBody(header.value ?? [], atMost: 4_096).text)
    }
    return .object(headers)
  }

  /// Records of stragglers name device tokens, which keys of scope read-only do not see.
  private func body(of letter: KafkaMessage, _ request: APIRequest) -> [(String, JSONValue)] {
    guard let value = letter.value else { return [("value", .null)] }
    let holdsTokens = letter.mayHoldTokens(
      except: [
        options.ingest.eventsTopic, options.ingest.segmentsTopic, options.ingest.bulkTopic,
      ])
    guard request.isTrusted || !holdsTokens else {
      return [("value", .null), ("value_withheld", .bool(true))]
    }
    let body = LetterBody(value)
    return [
      ("value", .string(body.text)), ("value_is_text", .bool(body.isText)),
      ("value_is_cut", .bool(body.isCut)),
    ]
  }

  private static func json(_ row: LetterSearch.Row) -> [(String, JSONValue)] {
    let (letter, mark) = (row.letter, row.mark)
    func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    return [
      ("letter", .string("\(letter.id)")), ("topic", .string(letter.topic)),
      ("code", .string(letter.code)), ("reason", .string(letter.reason)),
      ("event", text(letter.event)), ("streamer", text(letter.streamer)),
      ("at_ms", .integer(letter.writtenAt)), ("state", .string(mark.state.rawValue)),
      ("state_at_ms", mark.state == .new ? .null : .integer(mark.at)),
      ("bytes", .integer(Int64(letter.bytes))),
    ]
  }
}

// MARK: - acts

extension DeadLetterRoutes {
  private func act(_ act: LetterAct, _ request: APIRequest) async throws(Problem) -> APIResponse {
    try request.allowArguments([])
    var members: Set = ["letters", "filter", "expected", "dry_run", "reason"]
    if act == .replay { members.insert("value") }
    let body = try request.object(members)
    _ = try request.reason(in: body)
    let isDry = try body.flag("dry_run") ?? false
    let expected = try body.count("expected")
    if isDry { request.notes.add("dry_run", "true") }
    guard await desk.beginAct() else {
      throw Problem(
        .conflict, "letters are being replayed or dropped: ask again when that is done",
        headers: ["Retry-After": "1"])
    }
    let result: Result<APIResponse, Problem>
    do throws(Problem) {
      result = .success(try await perform(act, body, expected, isDry, request))
    } catch {
      result = .failure(error)
    }
    await desk.endAct()
    return try result.get()
  }

  private func perform(
    _ act: LetterAct, _ body: JSONObject, _ expected: Int64?, _ isDry: Bool,
    _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    let ids: [LetterID]
    switch (body["letters"], body["filter"]) {
    case (let given?, nil): ids = try Self.ids(given)
    case (nil, let given?):
      let filter = try LetterFilter(given)
      request.notes.add("filter", JSONText.compact(given))
      ids = try await chosen(by: filter, expected, isDry)
    default: throw Problem(.invalid, "the body has either letters or filter")
    }
    if ids.count <= Self.maximumLetters { request.notes.add("letters", ids.map { "\($0)" }) }
    if body["value"] != nil {
      return try await correct(ids, try body.required("value"), isDry, request)
    }
    // Half of the time that the exchange may take: its client is told what is done.
    let began = loop.now
    let limit = (options.http.exchangeTimeout / 2).nanoseconds
    do throws(DeadLettersError) {
      let report = try await acts.run(act, ids, isDry: isDry) { _ in
        loop.now &- began < limit
      }
      request.notes.add("done", "\(report.replayed + report.dropped)")
      return .ok(Self.json(report, isDry: isDry))
    } catch {
      throw Problem(error)
    }
  }

  private static func ids(_ given: JSONValue) throws(Problem) -> [LetterID] {
    guard let list = given.array, (1...maximumLetters).contains(list.count) else {
      throw Problem(.invalid, "letters is a list of 1 to \(maximumLetters)")
    }
    var ids: [LetterID] = []
    for element in list {
      guard let id = element.string.flatMap({ LetterID($0) }) else {
        throw Problem(.invalid, "a letter is <partition>:<offset>, such as 0:12")
      }
      ids.append(id)
    }
    return ids
  }

  /// Only as many as whoever asks has seen: others may have come since.
  private func chosen(
    by filter: LetterFilter, _ expected: Int64?, _ isDry: Bool
  ) async throws(Problem) -> [LetterID] {
    guard isDry || expected != nil else {
      throw Problem(.invalid, "expected is the number of letters that the filter matches")
    }
    let search = try await search(filter)
    guard expected == nil || expected == Int64(search.matched) else {
      throw Problem(
        .conflict, "the filter matches \(search.matched) of \(search.window): look again",
        reason: "matches_\(search.matched)")
    }
    return search.rows.map(\.letter.id)
  }

  private func correct(
    _ ids: [LetterID], _ value: String, _ isDry: Bool, _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    guard ids.count == 1, let id = ids.first else {
      throw Problem(.invalid, "value is for one letter")
    }
    request.notes.add("corrected", "true")
    let corrected: (letter: KafkaMessage, preview: LetterPreview)?
    do throws(DeadLettersError) {
      corrected = try await acts.correct(
        id, body: Array(value.utf8), isDry: isDry, repeats: false)
    } catch {
      throw Problem(error)
    }
    guard let preview = corrected?.preview else {
      throw Problem(.notFound, "Kafka has no such letter, or no longer")
    }
    var report = LetterActReport()
    report.seen = 1
    switch preview {
    case .fits: (report.fits, report.replayed) = (1, isDry ? 0 : 1)
    case .expired: report.expired = 1
    case .refused: report.refused = 1
    }
    return .ok(
      Self.json(report, isDry: isDry) + [
        (
          "preview",
          .object(JSONObject([("fits", .bool(preview.fits)), ("why", .string(preview.why))]))
        )
      ])
  }

  private static func json(_ report: LetterActReport, isDry: Bool) -> [(String, JSONValue)] {
    func number(_ number: Int) -> JSONValue { .integer(Int64(number)) }
    let reasons = report.reasons.map { reason -> JSONValue in
      .object(
        JSONObject([
          ("why", .string(reason.why)), ("count", number(reason.count)),
          ("letter", .string("\(reason.example)")),
        ]))
    }
    return [
      ("fits", number(report.fits)), ("expired", number(report.expired)),
      ("already", number(report.already)), ("refused", number(report.refused)),
      ("replayed", number(report.replayed)), ("dropped", number(report.dropped)),
      ("skipped", number(isDry ? 0 : report.skipped)), ("dry_run", .bool(isDry)),
      ("stopped", .bool(report.isStopped)), ("reasons", .array(reasons)),
    ]
  }
}

extension Problem {
  init(_ error: DeadLettersError) {
    switch error {
    case .kafka(let error): self.init(error)
    case .redis(let error): self.init(error)
    case .busy: self.init(.unavailable, error.description, headers: ["Retry-After": "1"])
    }
  }
}
