import EventLoop
import Transport

/// Answers that go on (`HTTPStateStream`). The connection ends with one.
extension HTTPConnection {
  /// A stream under way.
  struct Outgoing {
    let stream: HTTPStateStream
    let framing: StreamFraming
  }

  /// Begins a stream, or refuses it where there are too many.
  func begin(_ stream: HTTPStateStream, head answer: HTTPResponse) {
    guard owner.streamCount < options.maximumStreams else {
      stream.over()
      return refuse(503, "there are too many streams: end one, or come again")
    }
    let framing = StreamFraming(isChunked: takesChunks)
    let head = answer.head(
      isLast: true, at: options.wallClock(), length: framing.isChunked ? .chunked : .untilClose)
    guard let head else {
      stream.over()
      return close()
    }
    isLast = true
    held = []
    phase = .stream
    outgoing = Outgoing(stream: stream, framing: framing)
    owner.streamBegins(exchange, self)
    if owner.isRetiring { stream.end() }
    writer.begin(head, [])
    updateReading()
    pump()
  }

  /// Writes what there is, as far as the client reads.
  func pump() {
    while phase == .stream, let outgoing {
      guard writer.write(isLast: true) else {
        // A client that takes nothing for so long has gone, or may as well.
        if phase == .stream { timer.set(after: options.exchangeTimeout) }
        return
      }
      guard phase == .stream else { return }
      switch outgoing.stream.take() {
      case .state(let bytes): writer.begin([], outgoing.framing.piece(bytes))
      case .farewell(let bytes):
        writer.begin([], outgoing.framing.last(bytes))
        return endStream()
      case nil: return timer.set(after: outgoing.stream.options.aliveInterval)
      }
    }
  }

  /// The last bytes are handed to the writer: from here on it is a response like any other.
  private func endStream() {
    forgetStream()
    phase = .response
    timer.set(after: options.exchangeTimeout)
    write()
  }

  func forgetStream() {
    guard let stream = outgoing?.stream else { return }
    outgoing = nil
    owner.streamEnded(exchange)
    stream.over()
  }

  /// Nothing was sent for long, or nothing was read.
  func streamTimeIsOver() {
    guard let outgoing, writer.isDone else { return close() }
    writer.begin([], outgoing.framing.piece(outgoing.stream.options.alive))
    pump()
  }
}
