import Testing

@testable import API

@Suite struct APIKeyTests {
  @Test func theFileHoldsNoSecret() throws {
    let (secret, line) = APIKey.make(name: "app", scope: .appServer)
    #expect(!line.contains(secret))
    let ring = try APIKeyRing(text: "# of the app\n\n\(line)\n")
    #expect(ring.key(shown: secret)?.name == "app")
    #expect(ring.key(shown: secret)?.scope == .appServer)
  }

  @Test func linesMayEndAsOnWindows() throws {
    let (secret, line) = APIKey.make(name: "app", scope: .appServer)
    let ring = try APIKeyRing(text: "# of the app\r\n\r\n\(line)\r\n")
    #expect(ring.key(shown: secret)?.name == "app")
  }

  @Test func anotherSecretIsNoKey() throws {
    let (secret, line) = APIKey.make(name: "app", scope: .admin)
    let ring = try APIKeyRing(text: line)
    for wrong in ["", secret + "a", String(secret.dropLast()), secret.uppercased()] {
      #expect(ring.key(shown: wrong) == nil)
    }
  }

  @Test func noTwoSecretsAreTheSame() {
    let secrets = (0..<100).map { _ in APIKey.make(name: "a", scope: .admin).secret }
    #expect(Set(secrets).count == 100)
  }

  @Test(arguments: [
    ("app admin", "line 1: a line is NAME SCOPE"),
    ("a/b admin sha256:00", "line 1: a name is"),
    ("\napp root sha256:00", "line 2: a scope is one of read-only, app-server, admin"),
    ("app admin sha256:00", "line 1: the digest is sha256: and 64 hex digits"),
    ("app admin md5:00", "line 1: the digest is sha256:"),
  ])
  func aLineThatIsNoneIsTold(_ text: String, _ reason: String) {
    let flaw = #expect(throws: APIKeyRing.Flaw.self) { try APIKeyRing(text: text) }
    #expect(flaw?.message.hasPrefix(reason) == true)
  }

  @Test func aNameComesOnce() {
    let line = APIKey.make(name: "app", scope: .admin).line
    let flaw = #expect(throws: APIKeyRing.Flaw.self) { try APIKeyRing(text: "\(line)\n\(line)") }
    #expect(flaw?.message == "line 2: app comes twice")
  }

  /// Whose the secret is, and what it may, would be a matter of the order of lines.
  @Test func aSecretHasOneLine() {
    let (_, line) = APIKey.make(name: "app", scope: .readOnly)
    let other = line.replacing("app read-only", with: "other admin")
    let flaw = #expect(throws: APIKeyRing.Flaw.self) {
      try APIKeyRing(text: "# keys\n\(line)\n\n\(other)\n")
    }
    #expect(flaw?.message.hasPrefix("line 4: it is the key of line 2") == true)
  }

  @Test func whoMayMoreMayWhatOthersMay() {
    #expect(APIScope.admin > .appServer)
    #expect(APIScope.appServer > .readOnly)
    #expect(!(APIScope.readOnly >= .appServer))
  }
}
