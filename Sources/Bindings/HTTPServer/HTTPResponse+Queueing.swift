import CMicrohttpd

extension HTTPResponse {
  /// Hands it to libmicrohttpd, which copies it.
  /// - Parameter isLast: the connection ends with it.
  func queue(on connection: OpaquePointer, isLast: Bool) -> MHD_Result {
    let made = body.withUnsafeBytes {
      MHD_create_response_from_buffer(
        $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    var lines = headers.sorted { $0.key < $1.key }
    if isLast { lines.append(("Connection", "close")) }
    for (name, value) in [("Content-Type", contentType)] + lines
    where MHD_add_response_header(made, name, value) != .YES { return .NO }
    return MHD_queue_response(connection, UInt32(clamping: status), made)
  }
}
