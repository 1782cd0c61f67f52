extension Hexadecimal {
  /// A number of at least so many digits, in lower case.
  package static func text(_ number: some UnsignedInteger, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  /// As above, of one that is not negative.
  package static func text(_ number: Int, digits: Int) -> String {
    text(number.magnitude, digits: digits)
  }
}
