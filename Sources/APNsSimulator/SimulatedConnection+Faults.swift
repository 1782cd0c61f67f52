import HTTP2

/// How a script ends a connection.
extension SimulatedConnection {
  func halfClose() {
    flush()
    isHalfClosed = true
    transport.finishWriting()
  }

  func goAway() {
    let last = lastProcessedStream
    goAwayStream = last
    answerHeld(below: last)
    let debug = Array(#"{"reason":"Shutdown"}"#.utf8)
    debug.withUnsafeBytes {
      session?.goAway(lastStreamID: last, errorCode: service.script.goAwayCode, debug: $0)
    }
  }

  /// Those that the client still waits for.
  func answerHeld(below last: Int32) {
    for (slot, stream) in held where stream < last && session?.stream(of: slot) == stream {
      process(slot, stream)
    }
    held = []
  }
}
