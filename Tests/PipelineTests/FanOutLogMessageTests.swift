import Fixtures
import Model
import Telemetry
import Testing

@testable import Pipeline

/// Log lines of fan-outs that begin, as operators read them.
@Suite struct FanOutLogMessageTests {
  @Test(arguments: [0, 1, 10, 11]) func keysThatAreLeftOutAreNamedInOneBoundedLine(count: Int) {
    let sink = MemorySink()
    let log = Log(LogOptions(level: .info, format: .json), sink: sink)
    let event = Event(
      id: "e1", app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: 0, expiresAt: 1, fields: [:], document: [])
    log.keysAreLeftOut(event, (0..<count).map { "data.f\($0)" })
    #expect(sink.lines.count == min(count, 1))
    for line in sink.lines {
      #expect(line.contains(#""event":"e1""#) && line.contains(#""template":"go-live""#))
      #expect(line.contains("\"count\":\(count)") && line.contains("data.f0"))
      #expect(line.contains("data.f9") == (count >= 10) && !line.contains("data.f10"))
    }
  }
}
