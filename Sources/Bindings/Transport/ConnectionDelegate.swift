/// Hears of a connection; every call is on the loop.
package protocol ConnectionDelegate: AnyObject {
  /// Connected; with TLS: the handshake is done and the peer is who it should be.
  func connectionOpened(_ connection: Connection)
  /// `bytes` are good during the call only.
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer)
  /// All that was written has gone to the socket.
  func connectionDrained(_ connection: Connection)
  /// Once, and never after `close`. `nil`: the peer closed in order.
  func connectionClosed(_ connection: Connection, error: TransportError?)
  /// The peer writes nothing more, of a connection that outlives that.
  func connectionPeerFinished(_ connection: Connection)
}

extension ConnectionDelegate {
  package func connectionPeerFinished(_ connection: Connection) {}
}
