import Settings
import Terminal

/// A small file that the command line names.
package enum CommandFile {
  package static func read(
    _ path: String, maximumBytes: Int
  ) throws(CommandFailure) -> BoundedFile {
    do {
      return try BoundedFile.read(path, maximumBytes: maximumBytes)
    } catch {
      throw CommandFailure(.failed, error.message)
    }
  }
}
