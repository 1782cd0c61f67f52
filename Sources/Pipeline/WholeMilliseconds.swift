extension Duration {
  /// What clocks and the headers of stragglers count in; finer parts are cut.
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
