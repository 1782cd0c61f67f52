import Devices
import Expand
import Keyspace
import Model

let deviceTargets = [
  FuzzTarget("member", maximumBytes: 1024) { input in
    let topic = "com.example.live"
    let known = String(validating: input, as: UTF8.self).flatMap { Binding(member: $0) }
    if let known { try holdEqual(known.member, input.lossyText, "a member, read and written") }
    switch BindingParser(topic: topic).parse(input) {
    case .addressed(let tokenCount, let keyCount, let destination):
      let start = input.count - tokenCount
      let token = input[piece: start..<input.count].lossyText
      let keys =
        keyCount == 0 ? "" : input[piece: (start - 1 - keyCount)..<(start - 1)].lossyText
      let binding = Binding(destination: destination, topic: topic, keys: keys, token: token)
      try hold(binding != nil, "a worker sends to what is no device")
      // Who wrote the token in upper case is sent to as well.
      try holdEqual(
        binding?.member.lowercased(), input.lossyText.lowercased(), "a member, taken apart")
    case .ofAnotherTopic: try hold(known?.topic != topic, "a device of this topic is passed over")
    case .malformed: try hold(known == nil, "a worker does not read what is written to Redis")
    }
  },
  FuzzTarget("import") { input in
    let whole = lines(of: input, [0..<input.count])
    for cut in input.cuts { try holdEqual(lines(of: input, cut), whole, "lines, in pieces") }
    let reader = ImportRowReader(defaultTopic: "com.example.live", now: fuzzTime)
    for case .text(let line) in whole {
      let row: ImportRow
      do throws(ImportRow.Refusal) {
        row = try reader.read(line)
      } catch {
        try hold(!error.reason.isEmpty, "refused without a reason")
        continue
      }
      try hold(Keyspace.isIdentifier(row.user), "the user \(row.user.debugDescription)")
      try hold(row.follows.allSatisfy(Keyspace.isStreamerIdentifier), "follows \(row.follows)")
      try hold(row.tags.allSatisfy(Keyspace.isTag), "tags \(row.tags)")
      for part in row.rows {
        try hold(part.problem == nil && part.boundAt <= fuzzTime, "\(part)")
        for binding in part.bindings {
          try holdEqual(Binding(member: binding.member), binding, "a device, written and read")
        }
      }
    }
  },
]

private func lines(of input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) -> [ImportLine] {
  var lines = ImportLines(maximumLineBytes: 1024)
  var found: [ImportLine] = []
  for piece in pieces {
    lines.append(Array(input[piece: piece]))
    while let line = lines.next() { found.append(line) }
  }
  if let last = lines.last() { found.append(last) }
  return found
}
