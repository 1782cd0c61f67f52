import Glibc

/// What tells this process from others.
package enum HostName {
  /// Empty when the system does not say.
  package static var current: String {
    // gethostname need not end a name that it cut off: the last byte stays 0.
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  package static var processID: Int32 { getpid() }
}
