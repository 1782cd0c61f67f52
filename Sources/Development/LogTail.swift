import Glibc

/// The lines that are appended to a file from now on.
struct LogTail {
  private let path: String
  private var position: Int
  /// A line that has no end yet.
  private var rest: [UInt8] = []

  /// Of a look: what is longer comes with the next one.
  private static let maximumBytes = 64 << 10

  init(_ path: String) {
    self.path = path
    var status = stat()
    position = stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Whole lines since the last look, without their ends.
  mutating func lines() -> [String] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    fseek(file, position, SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    let count = fread(&bytes, 1, bytes.count, file)
    position += count
    rest += bytes[..<count]
    guard let end = rest.lastIndex(of: 0x0A) else { return [] }
    let whole = rest[..<end]
    rest = Array(rest[(end + 1)...])
    return whole.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }
}
