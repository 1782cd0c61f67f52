extension Scenario {
  /// Every scenario, in the order of what goes wrong.
  package static let all =
    apple + connections + neighbours + workers + kafka + redis + operators
    + watched + forgotten + again + letters + clocks + limited + verdicts + streams
    + commits + refusedLetters + owners + waiting + otherClocks + kept + reading + routes
    + platforms
}
