/// How many users a page asks for: as many as configured, unless their replies are too large or too
/// slow. Then half as many, and later as many as fit by what the last ones took. A pure machine.
struct PagePace: Equatable {
  private let maximumUsers: Int
  private let maximumBytes: Int
  private(set) var users: Int
  /// What a user of the last page took; 0 before there was one.
  private(set) var bytesAUser: Int

  /// - Parameter bytesAUser: what a user of a page took that somebody else has read; 0 where nobody
  ///   has.
  init(maximumUsers: Int, maximumBytes: Int, bytesAUser: Int = 0) {
    self.maximumUsers = maximumUsers
    self.maximumBytes = maximumBytes
    self.bytesAUser = bytesAUser
    users = maximumUsers
    if bytesAUser > 0 { users = min(users, fitting) }
  }

  /// Users who take half of what a page may: the next ones may have more.
  private var fitting: Int { max(1, maximumBytes / 2 / bytesAUser) }

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

  /// A page of `asked` users took so many bytes. Aims at those who fit, and grows to the double at
  /// most.
  mutating func fitted(_ asked: Int, bytes: Int) {
    bytesAUser = max(1, bytes / max(asked, 1))
    users = min(fitting, users * 2, maximumUsers)
  }
}
