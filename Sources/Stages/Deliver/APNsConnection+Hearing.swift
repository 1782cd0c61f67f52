import HTTP2
import Transport

/// What the transport says.
extension APNsConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    lastHeardAt = loop.now
    greetingAt = loop.now
    perform(machine.handle(.opened), "")
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session else { return }
    lastHeardAt = loop.now
    pingSentAt = nil
    isProving = false
    do {
      try session.receive(bytes)
    } catch {
      lose("\(error)")
      return
    }
    if gotSettings {
      gotSettings = false
      perform(machine.handle(.settings), "")
    }
    if let reason = goAwayReason {
      goAwayReason = nil
      perform(machine.handle(.goAway), reason)
    }
    settleFinished()
    hasWork = true
    route.schedulePump()
  }

  func connectionDrained(_ connection: Connection) {
    guard machine.phase == .open || machine.phase == .draining else { return }
    hasWork = true
    route.schedulePump()
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    lose(error.map { "\($0)" } ?? "the server closed the connection")
  }
}

/// What the session says, from inside of its calls: recorded here, judged when the call is over.
extension APNsConnection: HTTP2ClientDelegate {
  func http2(slot: Int, status: Int) {
    answers += 1
    slots.setStatus(slot, status)
  }

  func http2(slot: Int, header name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    // By its length first: accepted pushes have header fields too, and there are many of them.
    guard name.count == RetryAfter.fieldName.count, name.elementsEqual(RetryAfter.fieldName),
      let delay = RetryAfter.parse(value, now: options.wallClock())
    else { return }
    retryAfters[slot] = delay
  }

  func http2(slot: Int, body: UnsafeRawBufferPointer) {
    // The status came before. A body of an accepted push, which Apple never sends, says nothing.
    guard slots.status(slot) != 200, !body.isEmpty else { return }
    let room = Answer.maximumBytes - (bodies[slot]?.count ?? 0)
    guard room > 0 else { return }
    bodies[slot, default: []].append(contentsOf: body.prefix(room))
  }

  func http2(slot: Int, closed errorCode: UInt32) { finished.append((slot, errorCode)) }

  func http2GoAway(lastStreamID: Int32, errorCode: UInt32, debug: UnsafeRawBufferPointer) {
    let reason = Answer(body: Array(debug.prefix(Answer.maximumBytes))).reason
    lastStreamTaken = lastStreamID
    goAwayReason = reason ?? "GOAWAY, error code \(errorCode)"
  }

  func http2SettingsChanged() { gotSettings = true }

  func http2PingAcknowledged() { pingSentAt = nil }
}
