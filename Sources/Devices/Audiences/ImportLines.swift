/// Makes lines of what comes in pieces; keeps no more than a piece and a line.
package struct ImportLines {
  private let maximumLineBytes: Int
  private var buffer: [UInt8] = []
  private var position = 0
  /// No line ends before this place: it is not looked through again with each piece.
  private var searched = 0
  private var isTooLong = false
  /// Of the line that was given last, from 1.
  package private(set) var number = 0

  package init(maximumLineBytes: Int = ImportRow.maximumBytes) {
    self.maximumLineBytes = maximumLineBytes
  }

  package mutating func append(_ piece: [UInt8]) {
    buffer.removeFirst(position)
    searched -= position
    position = 0
    buffer += piece
  }

  /// The next that has come whole; nil: more must come.
  package mutating func next() -> ImportLine? {
    guard let end = buffer[max(position, searched)...].firstIndex(of: 0x0A) else {
      searched = buffer.count
      if buffer.count - position > maximumLineBytes {
        isTooLong = true
        position = buffer.count
      }
      return nil
    }
    let line = buffer[position..<end]
    position = end + 1
    return give(line)
  }

  /// Returns the text after the last line break, once nothing more comes; nil: there is none.
  package mutating func last() -> ImportLine? {
    let line = buffer[position...]
    position = buffer.count
    return line.isEmpty && !isTooLong ? nil : give(line)
  }

  private mutating func give(_ line: ArraySlice<UInt8>) -> ImportLine {
    number += 1
    defer { isTooLong = false }
    guard !isTooLong, line.count <= maximumLineBytes else { return .tooLong }
    return .text(Array(line.last == 0x0D ? line.dropLast() : line))
  }
}

/// A line of an import without its break.
package enum ImportLine: Sendable, Equatable {
  case text([UInt8])
  /// Its bytes were not kept.
  case tooLong
}
