extension Duration {
  /// The unit of clocks, configuration and the headers of records; finer parts are cut.
  package var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
