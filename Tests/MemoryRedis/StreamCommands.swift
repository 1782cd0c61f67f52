/// Commands on streams.
enum StreamCommands {
  static let all: [KnownCommand] = [
    CommandTable.add("xadd", -5) { store, call throws(CommandError) in
      try store.append(call)
    },
    CommandTable.read("xlen", 2) { store, call throws(CommandError) in
      .integer(Int64(try store.stream(call[1])?.entries.count ?? 0))
    },
    CommandTable.read("xrange", -4) { store, call throws(CommandError) in
      try store.range(call, from: 2, through: 3, isReversed: false)
    },
    CommandTable.read("xrevrange", -4) { store, call throws(CommandError) in
      try store.range(call, from: 3, through: 2, isReversed: true)
    },
  ]
}

/// What stands before the fields in XADD.
private struct AppendOptions {
  var maximum: Int64?
  var isApproximate = false
  var makesNone = false
  var identifier: StreamValue.Identifier?
  /// The caller leaves the sequence to us: `5-*`.
  var isSequenceOpen = false
  /// Of the first field.
  var start = 2

  init(_ call: CommandCall) throws(CommandError) {
    while start < call.count {
      let word = call.word(start)
      let more = call.count - 1 - start
      start += 1
      switch word {
      case "*": return
      case "maxlen" where more > 0: try readMaximum(call, more)
      case "nomkstream": makesNone = true
      default:
        let parts = try StreamValue.Identifier.parse(call[start - 1], isStrict: true)
        identifier = parts.identifier
        isSequenceOpen = parts.isSequenceOpen
        return
      }
    }
  }

  private mutating func readMaximum(_ call: CommandCall, _ more: Int) throws(CommandError) {
    guard maximum == nil else {
      throw CommandError(
        "ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
    }
    isApproximate = more >= 2 && call[start] == "~"
    if isApproximate || more >= 2 && call[start] == "=" { start += 1 }
    let value = try call.integer(start)
    guard value >= 0 else { throw CommandError("ERR The MAXLEN argument must be >= 0.") }
    maximum = value
    start += 1
  }
}

extension StreamValue.Identifier {
  private static let invalid = CommandError(
    "ERR Invalid stream ID specified as stream command argument")

  /// - Parameters:
  ///   - isStrict: `-` and `+` are none.
  ///   - missing: the sequence where only a time is given.
  static func parse(
    _ text: ByteString, isStrict: Bool, missing: UInt64 = 0
  ) throws(CommandError) -> (identifier: Self, isSequenceOpen: Bool) {
    if text == "-" || text == "+" {
      guard !isStrict else { throw invalid }
      return (text == "-" ? .zero : .maximum, false)
    }
    let parts = text.bytes.split(
      separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard text.count < 128, let time = number(parts[0]) else { throw invalid }
    guard parts.count == 2 else { return (Self(time: time, sequence: missing), false) }
    if isStrict, Array(parts[1]) == [UInt8(ascii: "*")] {
      return (Self(time: time, sequence: 0), true)
    }
    guard let sequence = number(parts[1]) else { throw invalid }
    return (Self(time: time, sequence: sequence), false)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return UInt64(String(decoding: digits, as: UTF8.self))
  }
}

extension RedisStore {
  /// Nil: there is no such key.
  fileprivate func stream(_ key: ByteString) throws(CommandError) -> StreamValue? {
    switch value(key) {
    case .stream(let stream): stream
    case nil: nil
    default: throw .wrongType
    }
  }

  fileprivate func append(_ call: CommandCall) throws(CommandError) -> StoreReply {
    let options = try AppendOptions(call)
    let fields = Array(call.words[min(options.start, call.count)...])
    guard fields.count >= 2, fields.count % 2 == 0 else { throw .arity("xadd") }
    if options.identifier == .zero, !options.isSequenceOpen {
      throw CommandError("ERR The ID specified in XADD must be greater than 0-0")
    }
    let known = try stream(call[1])
    if known == nil, options.makesNone { return .null }
    let identifier = try next(after: known?.last ?? .zero, options)
    if position(of: call[1]) == nil {
      keys.set(call[1], StoreEntry(value: .stream(StreamValue())))
    }
    guard let position = position(of: call[1]) else { return .null }
    let count = change(at: position, call[1]) { value in
      guard case .stream(var stream) = value else { return 0 }
      value = .none
      stream.append(identifier, fields)
      if let maximum = options.maximum {
        stream.trim(to: Int(maximum), isApproximate: options.isApproximate)
      }
      value = .stream(stream)
      return stream.entries.count
    }
    changes += 1
    let trim: [ByteString] =
      options.maximum == nil ? [] : ["MAXLEN", "=", ByteString(Int64(count))]
    rewritten = ["XADD", call[1]] + trim + [identifier.text] + fields
    return .bulk(identifier.text)
  }

  private func next(
    after last: StreamValue.Identifier, _ options: AppendOptions
  ) throws(CommandError) -> StreamValue.Identifier {
    guard let following = last.next else {
      throw CommandError(
        "ERR The stream has exhausted the last possible ID, unable to add more items")
    }
    guard var wanted = options.identifier else {
      let time = UInt64(clamping: milliseconds)
      return time > last.time ? StreamValue.Identifier(time: time, sequence: 0) : following
    }
    if options.isSequenceOpen, wanted.time == last.time, last.sequence < .max {
      wanted.sequence = last.sequence + 1
    }
    guard wanted > last else {
      throw CommandError(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item")
    }
    return wanted
  }

  fileprivate func range(
    _ call: CommandCall, from: Int, through: Int, isReversed: Bool
  ) throws(CommandError) -> StoreReply {
    let first = try bound(call[from], missing: 0)
    let last = try bound(call[through], missing: .max)
    let start = first.isExcluded ? first.identifier.next : first.identifier
    guard let start else { throw CommandError("ERR invalid start ID for the interval") }
    let end = last.isExcluded ? last.identifier.previous : last.identifier
    guard let end else { throw CommandError("ERR invalid end ID for the interval") }
    var count: Int64 = -1
    var index = 4
    while index < call.count {
      guard call.word(index) == "count", index + 1 < call.count else { throw .syntax }
      count = max(try call.integer(index + 1), 0)
      index += 2
    }
    guard let stream = try stream(call[1]) else { return .array([]) }
    if count == 0 { return .nullArray }
    let limit = count < 0 ? Int.max : Int(count)
    let found = stream.entries(from: start, through: end)
    let some = isReversed ? Array(found.suffix(limit).reversed()) : Array(found.prefix(limit))
    return .array(some.map { .array([.bulk($0.identifier.text), .strings($0.fields)]) })
  }

  private func bound(
    _ text: ByteString, missing: UInt64
  ) throws(CommandError) -> (identifier: StreamValue.Identifier, isExcluded: Bool) {
    let isExcluded = text.count > 1 && text.bytes[0] == UInt8(ascii: "(")
    let rest = isExcluded ? ByteString(Array(text.bytes.dropFirst())) : text
    let parsed = try StreamValue.Identifier.parse(rest, isStrict: isExcluded, missing: missing)
    return (parsed.identifier, isExcluded)
  }
}
