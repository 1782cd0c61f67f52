import DeadLetters
import Ingest
import JSON
import Kafka
import Testing

@testable import API

@Suite struct DeadLetterRoutesTests {
  private static let letters = "notify-followers.dead-letters"

  private static func event(_ id: String, _ more: String = "") -> String {
    #"{"id":"\#(id)","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b"},"#
      + #""occurred_at":"\#(APIBed.time)"\#(more)}"#
  }

  /// Writes letters as a worker does: two of events that are fine, one of what is no event, and one
  /// of stragglers.
  private static func write(to bed: APIBed) async throws {
    try bed.broker.create(topic: letters, partitions: 1)
    let options = KafkaOptions(bootstrapServers: bed.broker.bootstrapServers)
    let producer = try KafkaProducer(options) { _ in }
    defer { producer.close(timeout: .seconds(1)) }
    let unprocessable = IngestError(.unprocessable, "Redis holds another type")
    let records: [(String, String, IngestError)] = [
      (event("e0"), APIBed.events, unprocessable), (event("e1"), APIBed.events, unprocessable),
      ("{", APIBed.events, IngestError(.notJSON, "line 1")),
      (#"{"event":{"id":"e2"},"tokens":"secret"}"#, "notify-followers.stragglers", unprocessable),
    ]
    for (index, (value, topic, error)) in records.enumerated() {
      let record = KafkaMessage(
        topic: topic, partition: 0, offset: Int64(index), key: Array("s1".utf8),
        value: Array(value.utf8))
      let letter = DeadLetter(record, error: error, worker: "w", time: APIBed.time)
      _ = try await producer.send(
        topic: Self.letters, key: letter.key, value: letter.value, headers: letter.headers)
    }
  }

  private static func names(_ answer: APIBed.Answer) -> [String] {
    (answer["letters"]?.array ?? []).compactMap { $0.object?["letter"]?.string }
  }

  @Test func lettersAreListedAndFiltered() async throws {
    try await APIBed.run { bed in
      try await Self.write(to: bed)
      let all = try bed.ask("GET", "/v1/dead-letters", as: .readOnly)
      #expect(all.status == 200, "\(all.detail)")
      #expect(Self.names(all).sorted() == ["0:0", "0:1", "0:2", "0:3"])
      #expect(all["matched"] == 4 && all["scanned"] == 4)
      #expect(all["window"] == "all 4 letters that Kafka keeps")
      let some = try bed.ask("GET", "/v1/dead-letters?code=unprocessable&event=e1&limit=1")
      let letter = some["letters"]?.array?.first?.object
      #expect(letter?["letter"] == "0:1" && letter?["topic"] == .string(APIBed.events))
      #expect(letter?["streamer"] == "s1" && letter?["state"] == "new")
      #expect(letter?["state_at_ms"] == .null && letter?["reason"] == "Redis holds another type")
      #expect(Self.names(try bed.ask("GET", "/v1/dead-letters?text=LINE")) == ["0:2"])
      #expect(try bed.ask("GET", "/v1/dead-letters?since_ms=x").status == 422)
      // Characters are counted, as the description says.
      let long = String(repeating: "%C3%A9", count: 256)
      #expect(try bed.ask("GET", "/v1/dead-letters?text=\(long)")["matched"] == 0)
      #expect(try bed.ask("GET", "/v1/dead-letters?text=\(long)a").status == 422)
      #expect(try bed.ask("GET", "/v1/dead-letters?event=").status == 422)
      #expect(try bed.ask("GET", "/v1/dead-letters?shape=round").status == 400)
    }
  }

  /// Here no search may run: all of them go the way that is bounded.
  @Test func searchesWaitForTheirTurnAndTooManyAreRefused() async throws {
    try await APIBed.run({ $0.letterFinder = LetterFinder(atOnce: 0, maximumWaiting: 0) }) { bed in
      try await Self.write(to: bed)
      let refused = try bed.ask("GET", "/v1/dead-letters?text=line")
      #expect(refused.status == 503 && refused.problem == "unavailable", "\(refused.detail)")
      #expect(refused.head.contains("\r\nRetry-After: 1\r\n"))
      #expect(try bed.ask("GET", "/v1/dead-letters/0:0").status == 200)
    }
  }

  @Test func aLetterIsShownWithWhatAReplayWouldDo() async throws {
    try await APIBed.run { bed in
      try await Self.write(to: bed)
      let good = try bed.ask("GET", "/v1/dead-letters/0:0", as: .readOnly)
      #expect(good["value"] == .string(Self.event("e0")), "\(good.detail)")
      #expect(good["preview"]?.object?["fits"] == true)
      #expect(good["source"] == "notify-followers/0/0")
      #expect(good["headers"]?.object?["fanfare-error-code"] == "unprocessable")
      let bad = try bed.ask("GET", "/v1/dead-letters/0:2", as: .readOnly)
      #expect(bad["preview"]?.object?["fits"] == false)
      let withheld = try bed.ask("GET", "/v1/dead-letters/0:3", as: .readOnly)
      #expect(withheld["value"] == .null && withheld["value_withheld"] == true)
      #expect(
        try bed.ask("GET", "/v1/dead-letters/0:3")["value"]?.string?.contains("secret") == true)
      #expect(try bed.ask("GET", "/v1/dead-letters/0:9").status == 404)
      #expect(try bed.ask("GET", "/v1/dead-letters/9").status == 422)
    }
  }

  @Test func aReplayWritesEachRecordOnce() async throws {
    try await APIBed.run { bed in
      try await Self.write(to: bed)
      let body = #"{"letters":["0:0","0:1","0:2"],"dry_run":true}"#
      #expect(try bed.ask("POST", "/v1/dead-letters/replay", body, as: .appServer).status == 403)
      let dry = try bed.ask("POST", "/v1/dead-letters/replay", body)
      #expect(dry["fits"] == 2 && dry["refused"] == 1 && dry["replayed"] == 0, "\(dry.detail)")
      let real = body.replacing("true", with: "false")
      let first = try bed.ask("POST", "/v1/dead-letters/replay", real)
      #expect(first["replayed"] == 2 && first["skipped"] == 1)
      let second = try bed.ask("POST", "/v1/dead-letters/replay", real)
      #expect(second["replayed"] == 0 && second["already"] == 2)
      let marker = try bed.ask("POST", "/v1/fanouts", Self.event("last"))
      #expect(marker.status == 202)
      let records = try bed.records(of: APIBed.events, 3).compactMap { $0.1["id"]?.string }
      #expect(records.sorted() == ["e0", "e1", "last"])
      let states = try bed.ask("GET", "/v1/dead-letters?state=replayed")
      #expect(Self.names(states).sorted() == ["0:0", "0:1"])
      let lines = bed.audit.lines.filter { $0.contains("/v1/dead-letters/replay") }
      #expect(lines.contains { $0.contains("0:0") && $0.contains("\"done\":\"2\"") }, "\(lines)")
    }
  }

  @Test func aFilterActsOnAsManyAsAreExpected() async throws {
    try await APIBed.run { bed in
      try await Self.write(to: bed)
      func drop(_ body: String) throws -> APIBed.Answer {
        try bed.ask("POST", "/v1/dead-letters/drop", body)
      }
      #expect(try drop(#"{"filter":{"state":"new"},"expected":4}"#).status == 422)
      #expect(try drop(#"{"filter":{"code":"not_json"}}"#).status == 422)
      #expect(try drop(#"{}"#).status == 422)
      #expect(try drop(#"{"letters":["0:1"],"expected":"one","dry_run":true}"#).status == 422)
      let reason = String(repeating: "é", count: 512)
      let tried = #"{"letters":["0:1"],"dry_run":true,"reason":"\#(reason)"}"#
      #expect(try drop(tried)["fits"] == 1)
      #expect(try drop(tried.replacing("é\"", with: "éé\"")).status == 422)
      #expect(try drop(#"{"letters":["0:1"],"filter":{"code":"not_json"}}"#).status == 422)
      let wrong = try drop(#"{"filter":{"code":"not_json"},"expected":2}"#)
      #expect(wrong.status == 409 && wrong.detail.contains("matches 1 of"), "\(wrong.detail)")
      let done = try drop(#"{"filter":{"code":"not_json"},"expected":1}"#)
      #expect(done["dropped"] == 1, "\(done.detail)")
      #expect(try bed.ask("GET", "/v1/dead-letters?code=not_json")["matched"] == 0)
      #expect(try bed.ask("GET", "/v1/dead-letters?code=not_json&all=true")["matched"] == 1)
    }
  }

  @Test func aCorrectedCopyIsSent() async throws {
    try await APIBed.run { bed in
      try await Self.write(to: bed)
      func send(_ value: String, _ more: String = "") throws -> APIBed.Answer {
        let object = JSONObject([("letters", ["0:2"]), ("value", .string(value))])
        return try bed.ask("POST", "/v1/dead-letters/replay", JSONText.compact(.object(object)))
      }
      let wrong = try send("[]")
      #expect(wrong["refused"] == 1 && wrong["preview"]?.object?["fits"] == false)
      let right = try send(Self.event("corrected"))
      #expect(right["replayed"] == 1, "\(right.detail)")
      #expect(try bed.records(of: APIBed.events, 1).first?.1["id"] == "corrected")
    }
  }
}
