import Keyspace
import Model

/// Where one list of users is.
enum ListPlace: Equatable {
  case sharded(FollowerHeading)
  /// A streamer's followers that another system keeps.
  case plain(key: String)

  /// A hint, for choosing which of several lists to read.
  var size: Int {
    switch self {
    case .sharded(let heading): heading.followers
    case .plain: 1 << 40
    }
  }
}
