extension Duration {
  /// What clocks, configuration and the headers of records count in; finer parts are cut.
  package var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
