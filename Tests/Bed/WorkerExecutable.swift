import Glibc

/// The program under test.
package enum WorkerExecutable {
  /// Beside the test bundle.
  package static let path: String = {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    let bytes = path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
    let own = String(decoding: bytes, as: UTF8.self)
    return own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/fanfare"
  }()
}
