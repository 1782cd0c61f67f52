/// What the replies of a replica are worth.
enum ReplicaAnswer: Equatable {
  /// All replies are there. What the replica does not have (`missing`) only the master knows: it
  /// may be new, or a slot on the move has taken it along.
  case whole(missing: [Int])
  /// The master would not answer it better, or there is no time left to ask it.
  case failed(RedisError)
  /// The master is to be asked for all of it.
  case none

  init(_ execution: Execution) {
    if let failure = execution.failure {
      self = failure.code == .replyTooLarge ? .failed(failure) : .none
    } else if Self.refusal(in: execution.replies) != nil {
      self = .none
    } else {
      self = .whole(missing: Self.missing(in: execution.replies))
    }
  }

  var needsMaster: Bool {
    switch self {
    case .whole(let missing): !missing.isEmpty
    case .failed: false
    case .none: true
    }
  }

  /// The first error that the master may not answer as well: what a key holds is the same there.
  static func refusal(in replies: RedisReplies) -> RedisErrorReply? {
    for index in 0..<replies.count {
      if let error = replies[index].error, error.kind != .wrongType { return error }
    }
    return nil
  }

  private static func missing(in replies: RedisReplies) -> [Int] {
    (0..<replies.count).filter { replies[$0].isMissing }
  }
}

extension RedisErrorReply.Kind {
  /// The slot is, or goes, elsewhere; a node of the cluster says so that is well.
  var isOfMove: Bool {
    switch self {
    case .moved, .ask, .tryAgain, .clusterDown: true
    default: false
    }
  }
}

extension RedisReply {
  /// As a key answers that is not there: null, or an array without anything but nulls.
  fileprivate var isMissing: Bool {
    switch kind {
    case .null: true
    case .array: (0..<count).allSatisfy { self[$0].kind == .null }
    case .string, .integer, .status, .error: false
    }
  }
}
