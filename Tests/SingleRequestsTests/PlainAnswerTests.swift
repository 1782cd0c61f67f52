import Testing

@testable import SingleRequests

@Suite struct PlainAnswerTests {
  /// Fed in pieces of a size.
  private static func read(
    _ text: String, step: Int = .max, ends: Bool = true
  ) -> (PlainAnswer, PlainAnswer.State) {
    var answer = PlainAnswer(maximumBodyBytes: 20)
    var rest = Array(text.utf8)[...]
    var state = PlainAnswer.State.incomplete
    while !rest.isEmpty, state == .incomplete {
      let piece = rest.prefix(step)
      rest = rest.dropFirst(piece.count)
      state = piece.withUnsafeBytes { answer.receive($0) }
    }
    if ends, state == .incomplete {
      state = answer.receive(UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true)
    }
    return (answer, state)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMetadata-Flavor:  Google\r\n\r\nabcde",
    "HTTP/1.0 200 OK\r\nmetadata-flavor: Google\r\n\r\nabcde",
    "HTTP/1.1 200\r\nMetadata-Flavor: Google\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "3\r\nabc\r\n02;x=y\r\nde\r\n0\r\n\r\n",
  ])
  func readsABodyHoweverItsEndIsMarked(text: String) {
    for step in [1, 7, .max] {
      let (answer, state) = Self.read(text, step: step)
      #expect(state == .complete && answer.status == 200)
      #expect(answer.body == Array("abcde".utf8))
      #expect(answer.field("metadata-flavor") == "Google")
    }
  }

  @Test(arguments: [
    "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
  ])
  func anAnswerThatBreaksOffIsNone(text: String) {
    #expect(Self.read(text).1 == .broken("the answer breaks off"))
    #expect(Self.read(text, ends: false).1 == .incomplete)
  }

  @Test(arguments: [
    ("SSH-2.0-OpenSSH\r\n\r\n", "the answer is not HTTP/1.1"),
    ("HTTP/1.1 99 x\r\n\r\n", "the answer is not HTTP/1.1"),
    ("HTTP/1.1 +20 x\r\n\r\n", "the answer is not HTTP/1.1"),
    ("HTTP/1.1 200 OK\r\nfield\r\n\r\n", "a header field has no name"),
    ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "its length is no number"),
    ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "its length is no number"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n", "the answer is too long"),
    ("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 21), "the answer is too long"),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n", "the answer is too long"
    ),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "a chunk has no length"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc", "a chunk has no end"),
    (String(repeating: "x", count: 16_385), "the head is too long"),
  ])
  func saysWhatIsWrong(text: String, words: String) {
    #expect(Self.read(text).1 == .broken(words))
  }
}
