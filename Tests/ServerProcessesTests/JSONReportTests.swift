import Processes
import ServerProcesses
import Testing

@Suite struct JSONReportTests {
  @Test func readsWhatIsThere() throws {
    let report = try JSONReport(Array(#"{"port":7,"host":"h","by":{"a":1}}"#.utf8), of: "it")
    #expect(try report.integer("port") == 7)
    #expect(try report.text("host") == "h")
    #expect(try report.object("by").count == 1)
  }

  /// A page of the ledger of a simulator that served 100,000 devices.
  @Test func readsAsManyValuesAsAPageOfALedgerHas() throws {
    let entries = (0..<60_000).map { #""t\#($0)":{"requests":1,"accepted":1}"# }
    let text = #"{"tokens":{"# + entries.joined(separator: ",") + "}}"
    #expect(try JSONReport(Array(text.utf8), of: "it").object("tokens").count == 60_000)
  }

  @Test func namesWhatIsMissing() throws {
    let report = try JSONReport(Array(#"{"port":"7"}"#.utf8), of: "the broker")
    let failure = #expect(throws: LocalRunError.self) { try report.integer("port") }
    #expect(failure?.message == "the broker does not say port (an integer was expected)")
  }

  @Test(arguments: ["", "[]", "7", #"{"a":1"#])
  func refusesWhatIsNoObject(_ text: String) {
    #expect(throws: LocalRunError.self) { try JSONReport(Array(text.utf8), of: "it") }
  }
}
