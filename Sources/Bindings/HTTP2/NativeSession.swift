import CNghttp2

/// Makes a session; nghttp2 copies options and callbacks, so both are freed here.
func makeNativeSession(
  _ role: SessionRole, _ limits: HTTP2Limits
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
    nghttp2_option_set_no_closed_streams(option, 1)
    nghttp2_option_set_max_deflate_dynamic_table_size(option, limits.headerTableBytes)
    nghttp2_option_set_max_outbound_ack(option, limits.maximumQueuedAcknowledgements)
    nghttp2_option_set_max_settings(option, limits.maximumSettingsEntries)
    nghttp2_option_set_max_continuations(option, limits.maximumContinuations)
    setCallbacks(callbacks)
    switch role {
    case .client(let assumedMaximumStreams):
      nghttp2_option_set_max_reserved_remote_streams(option, 0)
      nghttp2_option_set_peer_max_concurrent_streams(
        option, UInt32(clamping: assumedMaximumStreams))
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
      nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
      failure = nghttp2_session_client_new2(&session, callbacks, nil, option)
    case .server:
      failure = nghttp2_session_server_new2(&session, callbacks, nil, option)
    }
  }
  guard failure == 0, let session else {
    throw HTTP2Error.library(failure, while: "making a session")
  }
  return session
}

let flagNone = UInt8(NGHTTP2_FLAG_NONE.rawValue)

func setting(_ identifier: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
  nghttp2_settings_entry(
    settings_id: Int32(bitPattern: identifier.rawValue),
    value: UInt32(clamping: value))
}

/// Which end of a connection a session is.
enum SessionRole {
  /// With the streams that a server is assumed to allow before it has spoken.
  case client(assumedMaximumStreams: Int)
  case server
}
