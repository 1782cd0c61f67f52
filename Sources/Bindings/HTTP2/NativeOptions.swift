import CNghttp2

/// Makes a session; nghttp2 copies options and callbacks, so both are freed here.
func makeNativeSession(
  isServer: Bool, fillOptions: (OpaquePointer) -> Void, setCallbacks: (OpaquePointer) -> Void
) throws(HTTP2Error) -> OpaquePointer {
  var option: OpaquePointer?
  var callbacks: OpaquePointer?
  var session: OpaquePointer?
  var failure = nghttp2_option_new(&option)
  if failure == 0 { failure = nghttp2_session_callbacks_new(&callbacks) }
  defer {
    nghttp2_option_del(option)
    nghttp2_session_callbacks_del(callbacks)
  }
  if failure == 0, let option, let callbacks {
    fillOptions(option)
    setCallbacks(callbacks)
    failure =
      isServer
      ? nghttp2_session_server_new2(&session, callbacks, nil, option)
      : nghttp2_session_client_new2(&session, callbacks, nil, option)
  }
  guard failure == 0, let session else {
    throw HTTP2Error.library(failure, while: "making a session")
  }
  return session
}

func setting(_ identifier: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
  nghttp2_settings_entry(
    settings_id: Int32(bitPattern: identifier.rawValue),
    value: UInt32(clamping: value))
}

/// Three digits, or nil.
func parseStatus(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32? {
  guard count == 3 else { return nil }
  var status: Int32 = 0
  for index in 0..<3 {
    let digit = Int32(bytes[index]) - 0x30
    guard digit >= 0 && digit <= 9 else { return nil }
    status = status * 10 + digit
  }
  return status
}

/// Large pieces of a body are no flood: the owner says how much body it takes.
@inline(__always)
func isWorthCounting(
  _ header: UnsafePointer<nghttp2_frame_hd>, largePiece: Int
) -> Bool {
  UInt32(header.pointee.type) != NGHTTP2_DATA.rawValue || header.pointee.length < largePiece
}
