import EventLoop
import Transport

/// Answers, and the end of a connection that is given up.
extension HTTPConnection {
  /// For a client that has sent all it announced, or that is given up.
  private static let briefLinger: Duration = .seconds(2)

  /// Refuses bytes that are no request, or a request that makes no progress.
  func giveUp(_ refusal: HTTPRefusal) {
    isGivenUp = true
    refuse(refusal.status, refusal.reason)
  }

  func refuse(_ status: Int, _ reason: String) {
    isLast = true
    // Its time may be over.
    timer.set(after: options.exchangeTimeout)
    respond(options.refusal(status, reason))
  }

  func respond(_ answer: HTTPResponse) {
    guard phase != .response, phase != .stream, phase != .lingering, phase != .closed else {
      answer.stream?.over()
      return
    }
    isLast = isLast || !isBodyComplete || answer.endsConnection || owner.isRetiring
    if intake != nil { timer.set(after: options.exchangeTimeout) }
    intake?.stream.end(.broken)
    let isHead = request?.method == "HEAD"
    if let stream = answer.stream {
      guard isHead else { return begin(stream, head: answer) }
      stream.over()
    }
    phase = .response
    let length: HTTPResponse.Length =
      answer.stream == nil ? .known : takesChunks ? .chunked : .untilClose
    guard let head = answer.head(isLast: isLast, at: options.wallClock(), length: length) else {
      return close()
    }
    writer.begin(head, isHead || answer.status == 204 ? [] : answer.body)
    updateReading()
    write()
  }

  func write() {
    guard phase == .response, writer.write(isLast: isLast), phase == .response else { return }
    responseLeft()
  }

  private func responseLeft() {
    owner.forget(exchange, bodyBytes: request?.body.count ?? 0)
    let wasBodyRead = isBodyComplete
    (request, intake) = (nil, nil)
    guard !isLast else {
      return awaitClose(wasBodyRead || isGivenUp ? Self.briefLinger : options.lingerTimeout)
    }
    phase = .head
    isBodyComplete = true
    quietSince = owner.nextTick()
    awaitRequest()
    owner.becameQuiet()
    guard !isProcessing else { return }
    let bytes = held
    held = []
    if bytes.isEmpty {
      if hasPeerFinished { return closeWhenSent() }
    } else {
      bytes.withUnsafeBytes { process($0) }
    }
    updateReading()
  }

  /// For a client that has sent all it wants, and reads on.
  func closeWhenSent() {
    guard transport.pendingBytes > 0 else { return close() }
    (phase, isLast) = (.response, true)
    timer.set(after: options.exchangeTimeout)
    write()
  }

  private func awaitClose(_ limit: Duration) {
    guard !hasPeerFinished else { return close() }
    phase = .lingering
    held = []
    transport.finishWriting()
    updateReading()
    timer.set(after: limit)
    owner.becameQuiet()
  }

  func timeIsOver() {
    switch phase {
    case .head where parser.isBetweenRequests: close()
    case .head, .body: giveUp(HTTPRefusal(408, "the request did not come within its time"))
    case .answer where !isBodyComplete && intake?.stream.hasEnded == false: judgeBody()
    case .answer:
      giveUp(HTTPRefusal(503, "this took too long, and goes on: ask again what has become of it"))
    case .stream: streamTimeIsOver()
    case .response, .lingering, .closed: close()
    }
  }

  private func judgeBody() {
    guard let intake else { return close() }
    // A loop that was busy has not yet read what the client sent in time.
    let before = intake.windowBytes
    if !intake.isHeldUp { readNow() }
    guard phase == .answer, !isBodyComplete, !intake.stream.hasEnded else { return }
    if intake.windowBytes > before, loop.now < intake.lastMoment {
      intake.beginWindow(now: loop.now)
    } else if let reason = intake.complaint(now: loop.now, window: options.exchangeTimeout) {
      isGivenUp = true
      return endBody(.tooSlow(reason: reason))
    }
    timer.set(at: intake.deadline(window: options.exchangeTimeout))
  }

  /// Ends a streamed body early. Its reader has `exchangeTimeout` to answer.
  func endBody(_ piece: HTTPBodyStream.Piece) {
    guard let intake, !intake.stream.hasEnded else { return }
    intake.isHeldUp = false
    intake.stream.end(piece)
    updateReading()
    timer.set(after: options.exchangeTimeout)
  }
}
