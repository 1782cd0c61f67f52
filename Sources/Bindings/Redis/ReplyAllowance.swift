/// The bytes that the replies of one pipeline may take together, wherever they come from. Confined
/// to a loop.
final class ReplyAllowance {
  private var left: Int

  init(_ bytes: Int) { left = bytes }

  func admits(_ bytes: Int) -> Bool {
    guard bytes <= left else { return false }
    left -= bytes
    return true
  }

  /// Returns the bytes of replies that were dropped.
  func giveBack(_ bytes: Int) { left += bytes }
}
