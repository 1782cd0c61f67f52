import CLua

/// Commands on sorted sets.
enum SortedSetCommands {
  static let all: [KnownCommand] = [
    CommandTable.add("zadd", -4) { store, call throws(CommandError) in
      try store.addScores(call)
    },
    CommandTable.write("zrem", -3) { store, call throws(CommandError) in
      let removed = try store.changeSortedSet(call[1], isMade: false) { set in
        Int64(call.words.dropFirst(2).count { set.remove($0) })
      }
      store.changes += Int(removed ?? 0)
      return .integer(removed ?? 0)
    },
    CommandTable.read("zscore", 3) { store, call throws(CommandError) in
      .optional(try store.sortedSet(call[1])?.score(of: call[2]).map(scoreText))
    },
    CommandTable.read("zcard", 2) { store, call throws(CommandError) in
      .integer(Int64(try store.sortedSet(call[1])?.count ?? 0))
    },
    CommandTable.read("zrange", -4) { store, call throws(CommandError) in
      try store.range(call)
    },
    CommandTable.write("zremrangebyscore", 4) { store, call throws(CommandError) in
      let (from, to) = (try ScoreBound(call[2]), try ScoreBound(call[3]))
      let removed = try store.changeSortedSet(call[1], isMade: false) { set in
        set.removeAll { from.isBelow($0) && to.isAbove($0) }
      }
      store.changes += removed ?? 0
      return .integer(Int64(removed ?? 0))
    },
  ]

  static func scoreText(_ score: Double) -> ByteString {
    var text = [CChar](repeating: 0, count: 32)
    let length = clua_format(score, &text, text.count)
    return ByteString(text.prefix(Int(length)).map { UInt8(bitPattern: $0) })
  }
}

/// An end of a range of scores: `5`, `(5`, `-inf`.
private struct ScoreBound {
  let score: Double
  let isExcluded: Bool

  init(_ text: ByteString) throws(CommandError) {
    isExcluded = text.bytes.first == UInt8(ascii: "(")
    guard let score = ByteString(Array(text.bytes.dropFirst(isExcluded ? 1 : 0))).float else {
      throw CommandError("ERR min or max is not a float")
    }
    self.score = score
  }

  func isBelow(_ other: Double) -> Bool { isExcluded ? score < other : score <= other }
  func isAbove(_ other: Double) -> Bool { isExcluded ? score > other : score >= other }
}

/// What stands before the scores in ZADD.
private struct ScoreOptions {
  var onlyNew = false
  var onlyKnown = false
  var onlyGreater = false
  var onlyLess = false
  var countsChanged = false
  var increases = false
  /// Of the first score.
  private(set) var start = 2

  init(_ call: CommandCall) throws(CommandError) {
    options: while start < call.count {
      switch call.word(start) {
      case "nx": onlyNew = true
      case "xx": onlyKnown = true
      case "gt": onlyGreater = true
      case "lt": onlyLess = true
      case "ch": countsChanged = true
      case "incr": increases = true
      default: break options
      }
      start += 1
    }
    let count = call.count - start
    guard count > 0, count % 2 == 0 else { throw .syntax }
    if onlyNew, onlyKnown {
      throw CommandError("ERR XX and NX options at the same time are not compatible")
    }
    if onlyGreater && onlyNew || onlyLess && onlyNew || onlyGreater && onlyLess {
      throw CommandError("ERR GT, LT, and/or NX options at the same time are not compatible")
    }
    if increases, count > 2 {
      throw CommandError("ERR INCR option supports a single increment-element pair")
    }
  }

  /// Nil: the member stays as it is.
  func score(_ score: Double, known: Double?) throws(CommandError) -> Double? {
    guard let known else { return onlyKnown ? nil : score }
    if onlyNew { return nil }
    let wanted = increases ? known + score : score
    if wanted.isNaN { throw CommandError("ERR resulting score is not a number (NaN)") }
    if onlyLess && wanted >= known || onlyGreater && wanted <= known { return nil }
    return wanted
  }
}

extension RedisStore {
  /// Nil: there is no such key.
  fileprivate func sortedSet(_ key: ByteString) throws(CommandError) -> SortedSet? {
    switch value(key) {
    case .sortedSet(let set): set
    case nil: nil
    default: throw .wrongType
    }
  }

  /// Changes a sorted set; one without members goes. Nil: there is none, and none is made.
  fileprivate func changeSortedSet<Result>(
    _ key: ByteString, isMade: Bool, _ body: (inout SortedSet) -> Result
  ) throws(CommandError) -> Result? {
    if position(of: key) == nil {
      guard isMade else { return nil }
      keys.set(key, StoreEntry(value: .sortedSet(SortedSet())))
    }
    guard let position = position(of: key) else { return nil }
    guard case .sortedSet = keys[position: position].value else { throw .wrongType }
    return change(at: position, key) { value in
      guard case .sortedSet(var set) = value else { return nil }
      value = .none
      let result = body(&set)
      if set.count > 0 { value = .sortedSet(set) }
      return result
    }
  }

  fileprivate func addScores(_ call: CommandCall) throws(CommandError) -> StoreReply {
    let options = try ScoreOptions(call)
    var pairs: [(score: Double, member: ByteString)] = []
    for index in stride(from: options.start, to: call.count, by: 2) {
      guard let score = call[index].score else {
        throw CommandError("ERR value is not a valid float")
      }
      pairs.append((score, call[index + 1]))
    }
    var set = try sortedSet(call[1]) ?? SortedSet()
    var (new, changed): (Int64, Int64) = (0, 0)
    var last: Double?
    for (score, member) in pairs {
      let known = set.score(of: member)
      guard let wanted = try options.score(score, known: known) else { continue }
      last = wanted
      guard wanted != known else { continue }
      if known == nil { new += 1 } else { changed += 1 }
      set.set(member, wanted)
    }
    if new + changed > 0 {
      _ = try changeSortedSet(call[1], isMade: true) { $0 = set }
      changes += 1
    }
    if options.increases { return .optional(last.map(SortedSetCommands.scoreText)) }
    return .integer(options.countsChanged ? new + changed : new)
  }

  /// ZRANGE by positions.
  fileprivate func range(_ call: CommandCall) throws(CommandError) -> StoreReply {
    var withScores = false
    var isReversed = false
    for index in 4..<call.count {
      switch call.word(index) {
      case "withscores": withScores = true
      case "rev" where !isReversed: isReversed = true
      default: throw .syntax
      }
    }
    var (first, last) = (try call.integer(2), try call.integer(3))
    guard let set = try sortedSet(call[1]) else { return .array([]) }
    let count = Int64(set.count)
    if first < 0 { first = max(count + first, 0) }
    if last < 0 { last = count + last }
    last = min(last, count - 1)
    guard first <= last else { return .array([]) }
    let elements = isReversed ? set.elements.reversed() : set.elements
    return .array(
      elements[Int(first)...Int(last)].flatMap { element -> [StoreReply] in
        let member = StoreReply.bulk(element.member)
        return withScores
          ? [member, .bulk(SortedSetCommands.scoreText(element.score))] : [member]
      })
  }
}
