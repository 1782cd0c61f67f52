/// Swift source text with its comments and literals told apart, so that a rule about calls does not
/// stumble over a sentence, nor a rule about comments over a string. Newlines stay where they are
/// in both halves.
///
/// Knows nested block comments, raw and multi-line strings, and the code inside interpolations. It
/// does not know bare regular-expression literals.
struct SourceText {
  private(set) var code: [UInt8]
  private(set) var comments: [UInt8]

  private let source: [UInt8]
  private var position = 0
  private var frames: [Frame] = [.code(openParentheses: 0)]

  private enum Frame {
    /// The file itself, or the code of an interpolation, which ends at its unmatched parenthesis.
    case code(openParentheses: Int)
    case literal(hashes: Int, isMultiline: Bool)
  }

  init(_ text: String) {
    source = Array(text.utf8)
    let blank = source.map { $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ") }
    code = blank
    comments = blank
    while position < source.count {
      switch frames[frames.count - 1] {
      case .code(let open): readCode(openParentheses: open)
      case .literal(let hashes, let isMultiline):
        readLiteral(hashes: hashes, isMultiline: isMultiline)
      }
    }
  }

  private func starts(with text: StaticString, at offset: Int = 0) -> Bool {
    let start = position + offset
    guard start + text.utf8CodeUnitCount <= source.count else { return false }
    return text.withUTF8Buffer { source[start..<start + $0.count].elementsEqual($0) }
  }

  private mutating func keepCode(_ count: Int = 1) {
    for _ in 0..<count where position < source.count {
      code[position] = source[position]
      position += 1
    }
  }

  private mutating func keepComment(_ count: Int = 1) {
    for _ in 0..<count where position < source.count {
      comments[position] = source[position]
      position += 1
    }
  }

  /// Most bytes begin nothing: they are passed over without a closer look.
  private mutating func keepPlainCode() {
    while position < source.count {
      switch source[position] {
      case UInt8(ascii: "/"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "("),
        UInt8(ascii: ")"):
        return
      case let byte:
        code[position] = byte
        position += 1
      }
    }
  }

  private mutating func readCode(openParentheses: Int) {
    keepPlainCode()
    guard position < source.count else { return }
    if starts(with: "//") {
      while position < source.count, source[position] != UInt8(ascii: "\n") { keepComment() }
      return
    }
    if starts(with: "/*") { return readBlockComment() }
    if let hashes = openingHashes() {
      let isMultiline = starts(with: "\"\"\"", at: hashes)
      keepCode(hashes + (isMultiline ? 3 : 1))
      frames.append(.literal(hashes: hashes, isMultiline: isMultiline))
      return
    }
    switch source[position] {
    case UInt8(ascii: "("):
      frames[frames.count - 1] = .code(openParentheses: openParentheses + 1)
    case UInt8(ascii: ")"):
      if openParentheses == 0, frames.count > 1 {
        frames.removeLast()
      } else {
        frames[frames.count - 1] = .code(openParentheses: openParentheses - 1)
      }
    default: break
    }
    keepCode()
  }

  private mutating func readBlockComment() {
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        keepComment(2)
      } else if starts(with: "*/") {
        depth -= 1
        keepComment(2)
      } else {
        keepComment()
      }
    } while depth > 0 && position < source.count
  }

  /// The number of `#` before a quotation mark that begins here, or nil when no literal begins
  /// here.
  private func openingHashes() -> Int? {
    var hashes = 0
    while starts(with: "#", at: hashes) { hashes += 1 }
    return starts(with: "\"", at: hashes) ? hashes : nil
  }

  private func hasHashes(_ count: Int, at offset: Int) -> Bool {
    (0..<count).allSatisfy { starts(with: "#", at: offset + $0) }
  }

  private mutating func passPlainText() {
    while position < source.count {
      switch source[position] {
      case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "\n"): return
      default: position += 1
      }
    }
  }

  private mutating func readLiteral(hashes: Int, isMultiline: Bool) {
    passPlainText()
    guard position < source.count else { return }
    let quotes = isMultiline ? 3 : 1
    if starts(with: "\\"), hasHashes(hashes, at: 1) {
      if starts(with: "(", at: 1 + hashes) {
        keepCode(2 + hashes)
        frames.append(.code(openParentheses: 0))
      } else {
        position += 2 + hashes
      }
    } else if isMultiline ? starts(with: "\"\"\"") : starts(with: "\""),
      hasHashes(hashes, at: quotes)
    {
      keepCode(quotes + hashes)
      frames.removeLast()
    } else if !isMultiline, starts(with: "\n") {
      // An unterminated literal does not compile; the next line starts afresh.
      frames.removeLast()
    } else {
      position += 1
    }
  }
}
