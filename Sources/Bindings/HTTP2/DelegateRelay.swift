/// Hands callbacks to the delegate without counting references: a session makes seven calls or more
/// for each request, and a delegate that is held weakly somewhere else (a connection's is) pays 30
/// ns for each count.
///
/// Unchecked reference: the delegate owns the session, and calls come only from inside a call on
/// the session, which the delegate (or who holds it) has made; so it is there.
class ServerRelay {
  func began(_ slot: Int, _ stream: Int32) {}
  func field(_ slot: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {}
  func body(_ slot: Int, _ bytes: UnsafeRawBufferPointer) {}
  func ended(_ slot: Int) {}
  func closed(_ slot: Int, _ errorCode: UInt32) {}

  static func make(_ delegate: some HTTP2ServerDelegate) -> ServerRelay {
    ServerRelayTo(delegate)
  }
}

private final class ServerRelayTo<Delegate: HTTP2ServerDelegate>: ServerRelay {
  private let delegate: Unmanaged<Delegate>

  init(_ delegate: Delegate) { self.delegate = .passUnretained(delegate) }

  override func began(_ slot: Int, _ stream: Int32) {
    delegate._withUnsafeGuaranteedRef { $0.http2(slot: slot, requestBegan: stream) }
  }
  override func field(
    _ slot: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    delegate._withUnsafeGuaranteedRef { $0.http2(slot: slot, field: name, value: value) }
  }
  override func body(_ slot: Int, _ bytes: UnsafeRawBufferPointer) {
    delegate._withUnsafeGuaranteedRef { $0.http2(slot: slot, requestBody: bytes) }
  }
  override func ended(_ slot: Int) {
    delegate._withUnsafeGuaranteedRef { $0.http2(requestEnded: slot) }
  }
  override func closed(_ slot: Int, _ errorCode: UInt32) {
    delegate._withUnsafeGuaranteedRef { $0.http2(slot: slot, streamClosed: errorCode) }
  }
}
