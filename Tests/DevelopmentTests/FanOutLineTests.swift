import JSON
import Record
import Testing

@testable import Development

@Suite struct FanOutLineTests {
  private func fanOut(_ event: String, _ fields: [String: String]) -> KnownFanOut {
    KnownFanOut(event: event, status: FanOutStatus(fields: fields))
  }

  private func push(_ device: String, _ json: String) throws -> ReceivedPush {
    let object = try JSONValue.parse(Array(json.utf8)).object
    return ReceivedPush(device: device, push: try #require(object))
  }

  @Test func theTextIsFoundWhereEachPlatformHasIt() throws {
    let apple = try push(
      "iPhone",
      #"{"token":"aa","topic":"t","payload":{"aps":{"alert":{"title":"A","body":"B"}}}}"#)
    let android = try push(
      "Android",
      #"{"token":"a","request":{"message":{"android":{"notification":{"title":"A","body":"B"}}}}}"#)
    let browser = try push(
      "browser", #"{"token":"https://x","message":"{\"notification\":{\"title\":\"A\"}}"}"#)
    #expect([apple.title, apple.body] == ["A", "B"])
    #expect([android.title, android.body] == ["A", "B"])
    #expect([browser.title, browser.body] == ["A", ""])
    let plain = try push("iPhone", #"{"payload":{"aps":{"alert":"B"}}}"#)
    #expect(plain.line == "B")
    let silent = try push("iPhone", #"{"payload":{"aps":{"content-available":1}}}"#)
    #expect(silent.line == "a push without a text")
    #expect(try push("browser", #"{"message":"no JSON"}"#).line == "a push without a text")
  }

  @Test func numbersThatAreNoneAreLeftOut() throws {
    let known = fanOut(
      "e1",
      [
        "state": "done", "pushes": "1203", "accepted": "1200", "rejected:Gone": "3",
        "started_ms": "1000", "done_ms": "1012",
      ])
    let got = [try push("iPhone", #"{"alert":{"title":"A","body":"B"}}"#)]
    #expect(
      FanOutLine(fanOut: known, received: got).lines == [
        "e1: 1,203 pushes, 1,200 accepted, 3 rejected, 12 ms", "  Ken's iPhone   A - B",
      ])
    let expired = fanOut(
      "e2", ["state": "expired", "pushes": "2", "accepted": "0", "expired": "2"])
    #expect(
      FanOutLine(fanOut: expired, received: []).lines == [
        "e2: 2 pushes, 0 accepted, 2 expired, expired", "  Ken got nothing of it",
      ])
  }

  @Test func eachFanOutIsToldOnceAtItsEnd() {
    let old = fanOut("old", ["state": "done"])
    var ended = EndedFanOuts(before: [old])
    #expect(ended.news([old]) == [])
    let running = fanOut("a", ["state": "running"])
    let other = fanOut("b", ["state": "incomplete"])
    #expect(ended.news([other, running, old]) == [other])
    let done = fanOut("a", ["state": "done"])
    #expect(ended.news([other, done, old]) == [done])
    #expect(ended.news([other, done, old]) == [])
    #expect(
      ended.news([fanOut("d", ["state": "done"]), fanOut("c", ["state": "done"])])
        .map(\.event) == ["c", "d"])
  }
}
