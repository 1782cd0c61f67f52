import Testing

@testable import Deliver

/// Answers as HTTP/1.1 servers write them, and as none may.
@Suite struct HTTP1AnswerReaderTests {
  private struct Reading: Equatable {
    var isOver = false
    var fault: String?
    var answer = HTTP1Answer()
  }

  /// - Parameter size: of the pieces in which the bytes come.
  private func read(_ text: String, inPiecesOf size: Int, thenCloses: Bool = false) -> Reading {
    var reader = HTTP1AnswerReader(
      keptBodyBytes: 8, keptFields: [Array("retry-after".utf8), Array("x-why".utf8)])
    var reading = Reading()
    let bytes = Array(text.utf8)
    do throws(HTTP1AnswerReader.Fault) {
      for start in stride(from: 0, to: bytes.count, by: size) where !reading.isOver {
        let piece = Array(bytes[start..<min(start + size, bytes.count)])
        let result = piece.withUnsafeBytes { bytes in
          Result { () throws(HTTP1AnswerReader.Fault) in try reader.receive(bytes) }
        }
        reading.isOver = try result.get()
      }
    } catch {
      reading.fault = error.description
    }
    if thenCloses { reader.closed(inOrder: true) }
    reading.answer = reader.answer
    return reading
  }

  /// In whatever pieces.
  private func read(_ text: String, thenCloses: Bool = false) -> Reading {
    let whole = read(text, inPiecesOf: text.utf8.count, thenCloses: thenCloses)
    for size in [1, 2, 3, 7] {
      #expect(read(text, inPiecesOf: size, thenCloses: thenCloses) == whole, "\(size): \(text)")
    }
    return whole
  }

  @Test(arguments: [
    ("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201, ""),
    ("HTTP/1.1 201\r\nContent-Length: 3\r\n\r\nabc", 201, "abc"),
    ("HTTP/1.1 200 \r\ncontent-length:3\t\r\nContent-Length: 3\r\n\r\nabc", 200, "abc"),
    ("HTTP/1.1 400 Bad\r\nContent-Length: 10\r\n\r\n0123456789", 400, "01234567"),
    ("HTTP/1.1 204 None\r\n\r\n", 204, ""), ("HTTP/1.1 304 Same\r\n\r\n", 304, ""),
    ("HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n", 204, ""),
    (
      "HTTP/1.1 410 Gone\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n", 410, "abc01234"
    ),
    (
      "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
      201,
      ""
    ),
    (
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: \r\nContent-Length: 9\r\n\r\n"
        + "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", 503, "busy"
    ),
  ])
  func anAnswerIsReadToItsEnd(text: String, status: Int, body: String) {
    let reading = read(text)
    #expect(reading.isOver && reading.fault == nil && reading.answer.isWhole)
    #expect(reading.answer.status == status && reading.answer.body == Array(body.utf8))
    #expect(!reading.answer.endsConnection)
    // Without its last byte it is not whole.
    let cut = read(String(text.dropLast()), thenCloses: true)
    #expect(!cut.isOver && cut.fault == nil && !cut.answer.isWhole)
  }

  @Test func fieldsAreKeptByName() {
    let reading = read(
      "HTTP/1.1 503 Busy\r\nX-Why:  too much \r\nRETRY-AFTER: 7\r\nRetry-After: 9\r\n"
        + "X-Other: 1\r\nContent-Length: 0\r\n\r\n")
    #expect(reading.isOver)
    #expect(
      reading.answer.fields == [
        Array("x-why".utf8): Array("too much".utf8), Array("retry-after".utf8): Array("9".utf8),
      ])
  }

  /// Of a 1xx answer nothing is kept.
  @Test func fieldsOfAnInterimAnswerAreNotTheAnswers() {
    let reading = read(
      "HTTP/1.1 103 Hints\r\nX-Why: early\r\nConnection: close\r\n\r\n"
        + "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    #expect(reading.isOver && reading.answer.fields.isEmpty && !reading.answer.endsConnection)
  }

  @Test(arguments: [
    "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 201 Created\r\nConnection: x, CLOSE \r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n",
  ])
  func anAnswerMayEndTheConnection(text: String) {
    let reading = read(text)
    #expect(reading.isOver && reading.answer.isWhole && reading.answer.endsConnection)
  }

  @Test func aBodyWithoutALengthEndsWithTheConnection() {
    let text = "HTTP/1.1 410 Gone\r\nServer: x\r\n\r\nit is gone"
    let reading = read(text)
    #expect(!reading.isOver && !reading.answer.isWhole && reading.answer.endsConnection)
    #expect(reading.answer.status == 410 && reading.answer.body == Array("it is go".utf8))
    #expect(read(text, thenCloses: true).answer.isWhole)
  }

  /// Nothing was asked that it could answer.
  @Test func bytesBehindAnAnswerEndTheConnection() {
    let reading = read("HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\nHTTP", inPiecesOf: 1000)
    #expect(reading.isOver && reading.answer.isWhole && reading.answer.endsConnection)
  }

  @Test(arguments: [
    "HTTP/2 201 Created\r\n", "HTTP/1.1  201 Created\r\n", "HTTP/1.1 2O1 Created\r\n",
    "HTTP/1.1 20 Created\r\n", "HTTP/1.1 2011 Created\r\n", "HTTP/1.1 099 Low\r\n",
    "HTTP/1.1 600 High\r\n", "HTTP/1.1 101 Switching Protocols\r\n", "\r\n", "http/1.1 201 C\r\n",
    "HTTP/1.1 201 Created\n", "HTTP/1.1 201 Cre\u{0}ated\r\n", "HTTP/1.1 201 Created\rX",
    "HTTP/1.1 201 Created\r\nName : value\r\n", "HTTP/1.1 201 Created\r\n: value\r\n",
    "HTTP/1.1 201 Created\r\nA: b\r\n c\r\n", "HTTP/1.1 201 Created\r\nname\r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: 1, 1\r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: -1\r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: \r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: 1234567890123456\r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, chunked\r\n",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n",
  ])
  func aHeadThatIsNoneIsAFault(text: String) {
    let reading = read(text)
    #expect(reading.fault?.isEmpty == false && !reading.isOver && !reading.answer.isWhole)
  }

  @Test(arguments: [
    "\r\n", "x\r\n", "-1\r\n", "1 \r\n", "123456789\r\n", ";x\r\n", "1\n", "1\r\nab\r\n",
    "1\r\na\n", "0\r\nx\u{1}\r\n",
  ])
  func chunksThatAreNoneAreAFault(chunks: String) {
    let reading = read("HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    #expect(reading.fault?.isEmpty == false && !reading.isOver && !reading.answer.isWhole)
    #expect(reading.answer.status == 410)
  }

  @Test func aHeadIsBounded() {
    func head(_ bytes: Int) -> String {
      let (start, end) = ("HTTP/1.1 201 Created\r\nX: ", "\r\nContent-Length: 0\r\n\r\n")
      let filling = bytes - start.utf8.count - end.utf8.count
      return start + String(repeating: "x", count: filling) + end
    }
    let most = HTTP1AnswerReader.maximumHeadBytes
    #expect(read(head(most), inPiecesOf: 999).isOver)
    #expect(read(head(most + 1), inPiecesOf: 999).fault?.contains("\(most)") == true)
    // Together with those before it.
    let interim = "HTTP/1.1 100 Continue\r\n\r\n"
    #expect(read(interim + head(most - interim.utf8.count), inPiecesOf: 999).isOver)
    #expect(read(interim + head(most), inPiecesOf: 999).fault != nil)
  }

  @Test func aBodyIsBounded() {
    let most = HTTP1AnswerReader.maximumBodyBytes
    func answer(_ bytes: Int) -> String {
      "HTTP/1.1 400 Bad\r\nContent-Length: \(bytes)\r\n\r\n" + String(repeating: "x", count: bytes)
    }
    #expect(read(answer(most), inPiecesOf: 9999).isOver)
    let long = read(answer(most + 1), inPiecesOf: 9999)
    #expect(long.fault?.contains("\(most)") == true && long.answer.body.count == 8)
    // Chunks of one byte, which bring five besides.
    let chunks = String(repeating: "1\r\na\r\n", count: most / 6 + 1)
    let head = "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(read(head + chunks, inPiecesOf: 9999).fault != nil)
  }
}
