/// What the worker's log says of the template, in words for somebody who edits it.
enum TemplateNews {
  /// - Parameter line: of the log, as text.
  /// - Returns: nil for a line of something else.
  static func words(of line: String) -> String? {
    if line.contains("the templates on disk are used from now on") {
      return "The worker uses the changed text now: e sends it, u undoes the change."
    }
    if line.contains("the templates on disk are those in use again") {
      return "The text is the one in use again."
    }
    guard line.contains("the templates have changed and cannot be used"),
      let mark = line.firstRange(of: "reason=")
    else { return nil }
    let reason = line[mark.upperBound...].drop { $0 == "\"" }
    let mistake = reason.last == "\"" ? reason.dropLast() : reason
    return """
      The changed text has a mistake, and is not used. The one before it stays in use.
        \(mistake)
        Correct this line (the first number) and save the file, or press u to undo the change.
      """
  }
}
