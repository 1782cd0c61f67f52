/// A line of an import without its break.
package enum ImportLine: Sendable, Equatable {
  case text([UInt8])
  /// Its bytes were not kept.
  case tooLong
}
