/// A parser of foreign bytes under a name, and what must hold of whatever it reads.
package struct FuzzTarget: Sendable {
  package let name: String
  /// Of inputs that a fuzzer makes; what is longer shows nothing new and takes longer.
  package let maximumBytes: Int
  private let body: @Sendable (UnsafeRawBufferPointer) throws -> Void

  init(
    _ name: String, maximumBytes: Int = 4096,
    _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) {
    self.name = name
    self.maximumBytes = maximumBytes
    self.body = body
  }

  /// - Throws: `BrokenProperty`, or what a parser must not throw.
  package func check(_ input: UnsafeRawBufferPointer) throws { try body(input) }

  package static let all: [FuzzTarget] =
    jsonTargets + ingestTargets + redisTargets + pageTargets + http2Targets + httpTargets
    + fileTargets
    + deviceTargets + appleTargets + textTargets

  package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// What does not hold of an input.
package struct BrokenProperty: Error, CustomStringConvertible {
  package let description: String
}

func hold(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(BrokenProperty) {
  guard condition else { throw BrokenProperty(description: otherwise()) }
}

func holdEqual<Value: Equatable>(
  _ one: Value, _ other: Value, _ what: @autoclosure () -> String
) throws(BrokenProperty) {
  guard one == other else {
    throw BrokenProperty(description: "\(what()):\n  \(one)\n  \(other)")
  }
}

extension UnsafeRawBufferPointer {
  /// The text of an input, with what is no UTF-8 replaced.
  var lossyText: String { String(decoding: self, as: UTF8.self) }

  /// The ways in which an input is cut to pieces: in two at a place that its bytes choose, in
  /// threes, and, when it is short, each byte by itself.
  var cuts: [[Range<Int>]] {
    guard count > 1 else { return [] }
    let place =
      1
      + Int(
        reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
          % UInt64(count - 1))
    var cuts = [[0..<place, place..<count], pieces(of: 3)]
    if count <= 512 { cuts.append(pieces(of: 1)) }
    return cuts
  }

  private func pieces(of size: Int) -> [Range<Int>] {
    stride(from: 0, to: count, by: size).map { $0..<Swift.min($0 + size, count) }
  }

  subscript(piece range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range])
  }

  /// What stands before the first empty line, as lines, and what comes behind it.
  var headLinesAndRest: (lines: [UnsafeRawBufferPointer], rest: UnsafeRawBufferPointer) {
    var (lines, start) = ([UnsafeRawBufferPointer](), 0)
    while let end = self[start...].firstIndex(of: 0x0A) {
      if end == start { return (lines, self[piece: (end + 1)..<count]) }
      lines.append(self[piece: start..<end])
      start = end + 1
    }
    return (lines, self[piece: start..<count])
  }
}
