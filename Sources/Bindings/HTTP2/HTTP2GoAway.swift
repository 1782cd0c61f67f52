/// The server takes no new streams.
package struct HTTP2GoAway {
  /// Streams above it are closed with REFUSED_STREAM.
  package let lastStreamID: Int32
  package let errorCode: UInt32
  package let debug: [UInt8]
}
