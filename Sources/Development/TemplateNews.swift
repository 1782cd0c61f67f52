/// News of the template from the worker's log, in words for somebody who edits it.
enum TemplateNews {
  /// - Parameters:
  ///   - line: of the log, as text.
  ///   - hasKeys: false where nobody presses keys.
  /// - Returns: nil for a line of something else.
  static func words(of line: String, hasKeys: Bool) -> String? {
    if line.contains("the templates on disk are used from now on") {
      return "The worker uses the changed text now"
        + (hasKeys ? ": e sends it, u undoes the change." : ".")
    }
    if line.contains("the templates on disk are those in use again") {
      return "The text is the one in use again."
    }
    if line.contains("a template looks mistaken"), let place = field("place", of: line) {
      return "The changed text looks mistaken: \(place)"
    }
    guard line.contains("the templates have changed and cannot be used"),
      let mistake = field("reason", of: line)
    else { return nil }
    let undo = hasKeys ? ", or press u to undo the change" : ""
    return """
      The changed text has a mistake, and is not used. The one before it stays in use.
        \(mistake)
        Correct this line (the first number) and save the file\(undo).
      """
  }

  /// The last field of a line, without its quotation marks.
  private static func field(_ name: String, of line: String) -> Substring? {
    guard let mark = line.firstRange(of: "  \(name)=") else { return nil }
    let value = line[mark.upperBound...]
    guard value.count > 1, value.first == "\"", value.last == "\"" else { return value }
    return value.dropFirst().dropLast()
  }
}
