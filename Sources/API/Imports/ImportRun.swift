import Text

/// An import that is read in this process. Confined to its jobs.
final class ImportRun {
  var report: ImportReport
  /// Somebody has deleted it: nothing more is to be read.
  var isDeleted = false
  /// Tells it from another of its id.
  let number: String
  /// It ends with the first line that is refused.
  let isStrict: Bool

  init(_ report: ImportReport, isStrict: Bool, number: UInt64) {
    self.number = Hexadecimal.text(number, digits: 16)
    self.report = report
    self.isStrict = isStrict
  }
}
