import Demo
import ServerProcesses
import Testing

@Suite struct DeliveryAuditTests {
  private func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  private func key(_ number: Int) throws -> TokenKey { try #require(TokenKey(token(number))) }

  private func entry(_ accepted: Int, status: Int, requests: Int = 1) -> LedgerEntry {
    LedgerEntry(requests: requests, accepted: accepted, firstArrival: 1, lastStatus: status)
  }

  private func ledger(_ entries: [Int: LedgerEntry]) -> Ledger {
    var ledger = Ledger()
    for (number, entry) in entries { ledger.add(token(number), entry) }
    return ledger
  }

  @Test("All is well: living devices accepted once, dead ones refused, muted ones never asked")
  func good() throws {
    var audit = DeliveryAudit(
      ledger: ledger([1: entry(1, status: 200), 2: entry(0, status: 410)]))
    audit.expect(try key(1), .living)
    audit.expect(try key(2), .dead)
    audit.expect(try key(3), .muted)
    #expect(audit.reached == 1)
    #expect(audit.refusedAsDead == 1)
    #expect(audit.missing == 0)
    #expect(audit.lost(outcomesWithoutSending: 0) == 0)
    #expect(audit.duplicated == 0)
    #expect(audit.wrongly == 0)
    #expect(audit.strangers == 0)
  }

  @Test("A device that was never asked for is lost, dead or living")
  func lost() throws {
    var audit = DeliveryAudit(ledger: ledger([:]))
    audit.expect(try key(1), .living)
    audit.expect(try key(2), .dead)
    audit.expect(try key(3), .muted)
    #expect(audit.lost(outcomesWithoutSending: 0) == 2)
  }

  @Test("What one platform misses is not made up for by another")
  func severalPlatforms() throws {
    var apple = DeliveryAudit(ledger: ledger([1: entry(1, status: 200), 2: entry(1, status: 200)]))
    var android = DeliveryAudit(ledger: ledger([:]))
    apple.expect(try key(1), .living)
    android.expect(try key(2), .living)
    // It was sent to the wrong platform: one has a stranger, the other misses it.
    #expect(apple.strangers == 1 && apple.missing == 0)
    #expect(android.missing == 1 && android.strangers == 0)
    let missing = apple.missing + android.missing
    #expect(DeliveryAudit.lost(missing: missing, outcomesWithoutSending: 0) == 1)
    #expect(DeliveryAudit.lost(missing: missing, outcomesWithoutSending: 1) == 0)
  }

  @Test(
    "A device that was asked for and has no final answer is lost", arguments: [0, 401, 429, 503])
  func noFinalAnswer(status: Int) throws {
    var audit = DeliveryAudit(ledger: ledger([1: entry(0, status: status)]))
    audit.expect(try key(1), .living)
    #expect(audit.lost(outcomesWithoutSending: 0) == 1)
  }

  @Test("What the worker settled without sending is not lost, and never makes up for more")
  func settledWithoutSending() throws {
    var audit = DeliveryAudit(ledger: ledger([:]))
    for number in 1...3 { audit.expect(try key(number), .living) }
    #expect(audit.lost(outcomesWithoutSending: 2) == 1)
    #expect(audit.lost(outcomesWithoutSending: 5) == 0)
    #expect(audit.lost(outcomesWithoutSending: -1) == 3)
  }

  @Test("A living device that was refused for good has its outcome")
  func refused() throws {
    var audit = DeliveryAudit(ledger: ledger([1: entry(0, status: 400)]))
    audit.expect(try key(1), .living)
    #expect(audit.refused == 1)
    #expect(audit.lost(outcomesWithoutSending: 0) == 0)
  }

  @Test("Every acceptance beyond the first is a duplicate")
  func duplicates() throws {
    var audit = DeliveryAudit(
      ledger: ledger([
        1: entry(3, status: 200), 2: entry(2, status: 200), 3: entry(0, status: 410),
      ]))
    for number in 1...2 { audit.expect(try key(number), .living) }
    #expect(audit.duplicated == 3)
    #expect(audit.reached == 2)
  }

  @Test("Muted devices that were asked for and dead ones that accepted were reached wrongly")
  func wrongly() throws {
    var audit = DeliveryAudit(
      ledger: ledger([1: entry(1, status: 200), 2: entry(1, status: 200)]))
    audit.expect(try key(1), .muted)
    audit.expect(try key(2), .dead)
    #expect(audit.wrongly == 2)
    #expect(audit.strangers == 0)
  }

  @Test("Tokens that nobody expected are strangers, also those of another size")
  func strangers() throws {
    var ledger = ledger([1: entry(1, status: 200), 9: entry(1, status: 200)])
    ledger.add("abcd", entry(1, status: 200))
    var audit = DeliveryAudit(ledger: ledger)
    audit.expect(try key(1), .living)
    #expect(audit.strangers == 2)
  }

  @Test("Tokens of any form are found again, and are not Apple's in another case")
  func tokensOfAnyForm() {
    let firebase = "dQw4w9WgXcQ-abcdefghij:APA91b_x-Y"
    var ledger = Ledger()
    ledger.add(firebase, entry(2, status: 200))
    #expect(ledger[TokenKey(of: firebase)]?.accepted == 2)
    #expect(ledger[TokenKey(of: firebase.lowercased())] == nil)
    #expect(ledger.duplicates == 1)
    let digits = String(repeating: "0123456789abcdef", count: 4)
    #expect(TokenKey(of: digits) == TokenKey(digits))
    #expect(TokenKey(of: digits + "0") != TokenKey(of: digits + "1"))
  }

  @Test("A token's key knows all its digits and no case")
  func keys() throws {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    #expect(TokenKey(digits) == TokenKey(digits.uppercased()))
    for place in [0, 15, 16, 31, 32, 47, 48, 63] {
      var other = Array(digits)
      other[place] = other[place] == "7" ? "8" : "7"
      #expect(TokenKey(String(other)) != TokenKey(digits))
    }
    #expect(TokenKey(String(digits.dropLast())) == nil)
    #expect(TokenKey(digits + "0") == nil)
    #expect(TokenKey(String(digits.dropLast()) + "g") == nil)
  }
}
