/// What bindings and profile of a user took in the last page of a large event that a lane read:
/// what its next segment begins with, so that not each asks for a page that is too large first.
final class UserWeight {
  /// 0 before there was a page.
  private(set) var bytes = 0

  /// - Parameter pageSize: what is configured. A short page says more of one user than of all: with
  ///   a sixteenth of them, each may still take 32 KB.
  func learn(_ bytes: Int, from users: Int, pageSize: Int) {
    if users >= pageSize / 16 { self.bytes = bytes }
  }
}
