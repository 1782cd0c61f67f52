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
    guard !session.isFlooded else {
      // It was to be told when it was found out, and takes nothing.
      return lose("the server sends too many frames for nothing, and reads none")
    }
    lastHeardAt = loop.now
    pingSentAt = nil
    isProving = false
    do {
      try session.receive(bytes)
    } catch {
      lose("\(error)")
      return
    }
    if session.takeSettingsChange() { perform(machine.handle(.settings), "") }
    if let goAway = session.takeGoAway() {
      lastStreamTaken = goAway.lastStreamID
      let reason = Answer(body: goAway.debug).reason
      perform(
        machine.handle(.goAway), reason ?? "GOAWAY, error code \(goAway.errorCode)")
    }
    settleEnded()
    hasWork = true
    signals.schedulePump()
  }

  func connectionDrained(_ connection: Connection) {
    guard machine.phase == .open || machine.phase == .draining else { return }
    hasWork = true
    signals.schedulePump()
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    lose(error.map { "\($0)" } ?? "the server closed the connection")
  }
}
