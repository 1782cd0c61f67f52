import Glibc

/// The directory of the files that a simulator's clients need.
package enum SimulatorDirectory {
  /// Makes it where it is not there, for nobody else.
  package static func make(_ directory: String) throws(SimulatorError) {
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
      throw SimulatorError(
        .cannotStart, "\(directory) cannot be made", cause: String(cString: strerror(errno)))
    }
    var status = stat()
    guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw SimulatorError(
        .cannotStart, "\(directory) is not a directory: no symbolic link is followed")
    }
  }
}
