/// An import that is read in this process. Confined to its jobs.
final class ImportRun {
  var report: ImportReport
  /// Somebody has deleted it: nothing more is to be read.
  var isDeleted = false
  /// It ends with the first line that is refused.
  let isStrict: Bool

  init(_ report: ImportReport, isStrict: Bool) {
    self.report = report
    self.isStrict = isStrict
  }
}
