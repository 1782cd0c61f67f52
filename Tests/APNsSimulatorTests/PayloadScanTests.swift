import JSON
import Testing
import Text

@testable import APNsSimulator

/// What the scan passes jansson must pass; what is usual the scan must pass.
@Suite struct PayloadScanTests {
  private func scan(_ text: [UInt8]) -> Bool {
    text.withUnsafeBytes { PayloadScan.isPlainlySound($0) }
  }

  private func jansson(_ text: [UInt8]) -> Bool {
    text.withUnsafeBytes { JSONCheck.isValid($0) }
  }

  static let usual = [
    #"{}"#, #" { "aps" : { "alert" : "x" } } "#, #"{"a":[],"b":[1,-2,0,3.25],"c":true}"#,
    #"{"a":null,"b":false,"c":{"a":1,"b":{"a":2}},"d":[{"a":1},{"a":2}]}"#,
    #"{"a":"é 漢字 👩‍👩‍👧 \"quoted\" \\ \/ \b\f\n\r\t"}"#, "{\"a\":\"\u{7f}\"}",
  ]

  @Test(arguments: usual)
  func usualPayloadsNeedNoJansson(text: String) {
    #expect(scan(Array(text.utf8)))
    #expect(jansson(Array(text.utf8)))
  }

  @Test(arguments: [
    #"{"a":1,"a":2}"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":"\x"}"#,
    #"{"a":1}x"#, #"{"a":1"#, #"{"a"}"#, #"{"a":1,}"#, #"[1]"#, #""a""#, "", "   ", #"{a:1}"#,
    "{\"a\":\"\n\"}", #"{"a":tru}"#, #"{"a":"b}"#, #"{"a":[1,]}"#, #"{"a":-}"#, #"{"a":NaN}"#,
    #"{"a":"\u0000"}"#, #"{"a":"\ud800"}"#, #"{"\u0061":1,"a":2}"#,
  ])
  func unsoundPayloadsAreRefused(text: String) {
    #expect(!scan(Array(text.utf8)))
    #expect(!Array(text.utf8).withUnsafeBytes { PayloadScan.isObject($0) })
  }

  @Test(arguments: [
    #"{"a":1e5}"#, #"{"a":123456789012345678}"#, #"{"a":"\u00e9"}"#, #"{"a":"\ud83d\ude00"}"#,
  ])
  func unusualPayloadsAreJanssonsToJudge(text: String) {
    #expect(!scan(Array(text.utf8)))
    #expect(Array(text.utf8).withUnsafeBytes { PayloadScan.isObject($0) })
  }

  @Test func deepAndWideObjectsAreJanssonsToJudge() {
    let deep = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
    let wide = "{" + (0..<200).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    for text in [deep, wide] {
      #expect(!scan(Array(text.utf8)))
      #expect(Array(text.utf8).withUnsafeBytes { PayloadScan.isObject($0) })
    }
  }

  @Test func whatTheScanPassesJanssonPasses() {
    var random = SplitMix64(seed: 11)
    var passed = 0
    let alphabet = Array(#"{}[]",:\/0123456789.-+eEtrufalsn é"#.utf8) + [0xC3, 0x80, 0xED, 0xF4, 0]
    for _ in 0..<200_000 {
      var text = Array(Self.usual.randomElement(using: &random)!.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: text[place] = alphabet.randomElement(using: &random)!
        case 1: text.remove(at: place)
        default: text.insert(alphabet.randomElement(using: &random)!, at: place)
        }
      }
      guard scan(text) else { continue }
      passed += 1
      #expect(jansson(text), "\(String(decoding: text, as: UTF8.self).debugDescription)")
    }
    #expect(passed > 1000)
  }
}
