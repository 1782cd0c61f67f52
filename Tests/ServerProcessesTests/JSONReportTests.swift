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
