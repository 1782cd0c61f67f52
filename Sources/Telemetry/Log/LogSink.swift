import Glibc

/// Where lines go. Called from any thread; must not block.
package protocol LogSink: Sendable {
  /// One whole line with its line break. False when it could not be written.
  func write(_ line: UnsafeRawBufferPointer) -> Bool
}
