/// How many users a page asks for: as many as configured, unless their replies are too large or too
/// slow. Then half as many, and later as many as fit by what the last ones took. A pure machine.
struct PagePace: Equatable {
  private let maximumUsers: Int
  private let maximumBytes: Int
  private(set) var users: Int

  init(maximumUsers: Int, maximumBytes: Int) {
    self.maximumUsers = maximumUsers
    self.maximumBytes = maximumBytes
    users = maximumUsers
  }

  var isSlowed: Bool { users < maximumUsers }

  /// How many of the users of a batch that are `left` the next page asks for. A batch of up to two
  /// pages stays whole: a scan answers about as many as it was asked for, now and then some more.
  /// A larger one is divided evenly, into pages of about as many as configured: a short last one
  /// costs as many round trips as a long one.
  func length(_ left: Int, of batch: Int) -> Int {
    guard !isSlowed else { return min(left, users) }
    guard batch > 2 * maximumUsers else { return left }
    let pages = max(1, left / maximumUsers)
    return (left + pages - 1) / pages
  }

  /// A page of `asked` users was too much.
  mutating func tooMuch(_ asked: Int) { users = max(1, min(users, asked) / 2) }

  /// A page of `asked` users took so many bytes. Aims at half of what it may take, since the next
  /// ones may have more; grows to the double at most.
  mutating func fitted(_ asked: Int, bytes: Int) {
    let average = max(1, bytes / max(asked, 1))
    let target = max(1, maximumBytes / 2 / average)
    users = min(target, target < users ? target : users * 2, maximumUsers)
  }
}
