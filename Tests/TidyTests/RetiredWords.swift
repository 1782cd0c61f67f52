/// Words that were ours alone and that the field's own have replaced: nobody has to learn them
/// again. Looked for in code, comments, strings and documents; `aNewPush` is three words.
struct RetiredWords {
  /// Word → what is said instead.
  static let words: [String: String] = [
    "anew": "again, from the beginning",
    "condemn": "what becomes of it",
    "conduct": "policy",
    "ensemble": "LocalStack",
    "guests": "probes",
    "hopeless": "what is wrong with it",
    "household": "ChildProcesses",
    "impatient": "how long it waits",
    "patient": "how long it waits, and for what",
    "patience": "a time limit and what it is for",
    "punished": "that its stream limit was cut",
    "rehearsal": "LocalRun",
    "seats": "connections",
    "telling": "what is told, to whom",
    "unproven": "unknown",
    "vacate": "releaseSlot",
  ]

  /// Letter by letter, wherever they are.
  static let phrases: [String: String] = [
    "stands " + "at": "is at, holds",
    "stand " + "at": "is at, holds",
    "Deliver" + "Notices": "DeliverLogMessages",
    "Stoppable" + "Waits": "CancellableTimers",
    "+" + "Hearing": "+Callbacks",
    "Claim" + "Keeper": "SegmentClaims",
    "Brake" + "Watch": "FanOutControlWatch",
    "Brake" + "Result": "HaltResult",
    "set" + "Brake": "setHalt",
    "Failure" + "Attribution": "OutlierDetection",
    "fails" + "ByItself": "isOutlier",
    "gets" + "Nowhere": "isOutlier",
    "is" + "Proven": "isAlive",
    "Ready" + "Queue": "TopicQueue",
    "settle" + "Over": "settleExpiredOrCancelled",
    "Stuck" + "FanOuts": "Outliers",
    "Connection" + "Place": "ConnectionSlot",
    "wait" + "Out": "scheduleRetry",
    "PutOff" + "Counts": "DeferralCounts",
    "Straggler" + "Gate": "Stragglers",
    "leave" + "Places": "releaseSlots",
    "may" + "Linger": "mayReleaseSlot",
    "Segment" + "Lingering": "SegmentRunner, which awaits answers",
    "Untold" + "News": "PendingTokenChanges",
    "workWithout" + "Place": "workWithoutSlot",
  ]

  /// This list and its test say them.
  static func holds(for path: String) -> Bool { !path.contains("/RetiredWord") }

  static func violations(in path: String, _ text: String) -> [Violation] {
    guard holds(for: path) else { return [] }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    // Hardly a file has one: only its lines are taken apart.
    let small = text.lowercased()
    let words = words.filter { small.mentions($0.key) }
    let phrases = phrases.filter { text.mentions($0.key) }
    guard !words.isEmpty || !phrases.isEmpty else { return [] }
    return lines.enumerated().flatMap { index, line in
      let found = Set(Self.words(of: line)).intersection(words.keys).sorted()
      let spoken = phrases.keys.filter { line.mentions($0) }.sorted()
      return (found + spoken).map { word in
        let instead = words[word] ?? phrases[word] ?? ""
        return Violation(file: path, line: index + 1, rule: "\(word): say \(instead)")
      }
    }
  }

  /// In small letters, with names like `aNewPush` taken apart.
  private static func words(of line: Substring) -> [String] {
    var words: [String] = []
    var word = ""
    var capitals = 0
    for byte in line.utf8 {
      let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      // In `HTTPServer` and `ANewPush` the last capital begins the next word.
      let first = isSmall && capitals > 1 ? word.popLast() : nil
      if !word.isEmpty, first != nil || !isSmall && !isCapital || isCapital && capitals == 0 {
        words.append(word)
        word = ""
      }
      if let first { word.append(first) }
      if isSmall || isCapital { word.unicodeScalars.append(Unicode.Scalar(byte | 0x20)) }
      capitals = isCapital ? capitals + 1 : 0
    }
    return word.isEmpty ? words : words + [word]
  }
}
