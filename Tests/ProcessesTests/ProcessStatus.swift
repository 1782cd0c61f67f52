import Glibc

enum ProcessStatus {
  /// nil: there is no such process, not even one that nobody has waited for.
  static func of(_ processID: Int32) -> Int32? { kill(processID, 0) == 0 ? processID : nil }

  /// An empty directory.
  static func remove(_ path: String) -> Bool { rmdir(path) == 0 }
}
