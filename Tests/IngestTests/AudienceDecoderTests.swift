import Glibc
import JSON
import Model
import Testing
import Text

@testable import Ingest

/// Whom an event addresses: the decoder and `Config/event.schema.json` judge alike.
@Suite struct AudienceDecoderTests {
  private static func decoded(_ audience: String) throws -> IngestResult {
    decode(try sample("audience", try JSONValue.parse(Array(audience.utf8))))
  }

  private static let beta = #"{"tag":"beta"}"#
  private static let others = #"{"not":{"tag":"beta"}}"#

  private static func list(_ word: String, _ part: String, _ count: Int) -> String {
    #"{"\#(word)":[\#(Array(repeating: part, count: count).joined(separator: ","))]}"#
  }

  private static let good: [(text: String, audience: EventAudience)] = [
    (#"{"followers":true}"#, .followers),
    (#"{"users":["u1","ü","u1"]}"#, .users(["u1", "ü"])),
    (beta, .matching(.tag("beta"))),
    (#"{"or":[{"tag":"a"},{"followers":true}]}"#, .matching(.or([.tag("a"), .followers]))),
    (
      #"{"and":[{"followers":true},{"not":{"tag":"a"}}]}"#,
      .matching(.and([.followers, .not(.tag("a"))]))
    ),
    (
      #"{"and":[{"not":{"or":[{"tag":"a"},{"not":{"tag":"b"}}]}},{"tag":"c"}]}"#,
      .matching(.and([.not(.or([.tag("a"), .not(.tag("b"))])), .tag("c")]))
    ),
    (
      #"{"or":[{"and":[{"tag":"a"},{"not":{"tag":"b"}}]},{"tag":"c"}]}"#,
      .matching(.or([.and([.tag("a"), .not(.tag("b"))]), .tag("c")]))
    ),
  ]

  @Test func expressionsAreRead() throws {
    for (text, audience) in Self.good {
      #expect(try Self.decoded(text).event?.audience == audience, "\(text)")
    }
    #expect(decode(sampleText).event?.audience == .followers)
  }

  private static let bad: [(text: String, code: IngestError.Code)] = [
    ("null", .wrongType), ("[]", .wrongType), (#""all""#, .wrongType), ("{}", .badAudience),
    (#"{"tag":"a","followers":true}"#, .badAudience), (#"{"everybody":true}"#, .unknownField),
    (#"{"followers":false}"#, .badAudience), (#"{"tag":5}"#, .wrongType),
    (#"{"tag":""}"#, .badIdentifier), (#"{"tag":"a:1:2"}"#, .badIdentifier),
    (#"{"tag":"a}b"}"#, .badIdentifier),
    (#"{"tag":"é"}"#, .badIdentifier), (#"{"users":[]}"#, .badAudience),
    (#"{"users":"u1"}"#, .wrongType), (#"{"users":[5]}"#, .wrongType),
    (#"{"users":["a{"]}"#, .badIdentifier), (list("users", #""u""#, 1001), .badAudience),
    (#"{"or":[{"users":["u1"]}]}"#, .badAudience), (#"{"or":{"tag":"a"}}"#, .wrongType),
    (list("or", beta, 0), .badAudience), (list("or", beta, 9), .badAudience),
    (list("or", list("and", beta, 5), 1), .badAudience),
    (list("or", list("and", list("or", beta, 1), 1), 1), .badAudience),
    (others, .badAudience), (list("and", others, 2), .badAudience),
    (#"{"or":[\#(beta),\#(others)]}"#, .badAudience),
    (#"{"and":[\#(beta),{"not":{"not":\#(beta)}}]}"#, .badAudience),
    (#"{"and":[{"or":[\#(beta),\#(others)]}]}"#, .badAudience),
  ]

  @Test func whatSaysNothingIsRefused() throws {
    for (text, code) in Self.bad {
      #expect(try Self.decoded(text).error?.code == code, "\(text.prefix(80))")
    }
  }

  @Test func theSchemaJudgesAlike() throws {
    let checker = SchemaChecker(root: try JSONValue.parse(Array(EventSchema.text.utf8)))
    func judged(_ text: String) throws -> Bool {
      checker.accepts(try sample("audience", try JSONValue.parse(Array(text.utf8))))
    }
    for (text, _) in Self.good { #expect(try judged(text), "\(text)") }
    for (text, _) in Self.bad { #expect(try !judged(text), "\(text.prefix(80))") }
    for (word, count) in [("or", 8), ("and", 8), ("users", 1000)] {
      let text = Self.list(word, word == "users" ? #""u""# : Self.beta, count)
      #expect(try judged(text))
      #expect(try Self.decoded(text).error == nil)
    }
  }

  /// Random expressions, half of which say nothing.
  @Test func theSchemaJudgesAlikeWhateverItIs() throws {
    let checker = SchemaChecker(root: try JSONValue.parse(Array(EventSchema.text.utf8)))
    var random = SplitMix64(seed: 7)
    func made(_ depth: Int) -> JSONValue {
      switch Int.random(in: depth > 2 ? 3...5 : 0...5, using: &random) {
      case 0, 1:
        let word = Bool.random(using: &random) ? "and" : "or"
        return .object(
          JSONObject([
            (word, .array((0..<Int.random(in: 1...5, using: &random)).map { _ in made(depth + 1) }))
          ]))
      case 2: return .object(JSONObject([("not", made(depth + 1))]))
      case 3: return ["followers": true]
      default: return ["tag": .string("t\(Int.random(in: 0...3, using: &random))")]
      }
    }
    var taken = 0
    for _ in 0..<2000 {
      let audience = made(0)
      let event = try sample("audience", audience)
      let isTaken = decode(event).error == nil
      if isTaken { taken += 1 }
      #expect(checker.accepts(event) == isTaken, "\(JSONText.compact(audience))")
    }
    #expect(taken > 200 && taken < 1900)
  }
}
