/// Which end of a connection a session is.
enum SessionRole {
  /// With the streams that a server is assumed to allow before it has spoken.
  case client(assumedMaximumStreams: Int)
  case server
}
