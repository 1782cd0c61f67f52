import Assembly
import Deliver
import Glibc
import Pipeline
import Processes
import Settings
import Synchronization
import TLS
import Telemetry
import Testing

/// A certificate that is changed under a worker that runs, and its end.
@Suite struct CertificateCredentialsTests {
  private static let day: Int64 = 24 * 3600 * 1000

  private let directory: ScratchDirectory
  private let authority: ThrowAwayAuthority
  private let clock = Clock()

  private final class Clock: Sendable {
    let now = Atomic(WallClock.nowMilliseconds())
  }

  init() throws {
    directory = try ScratchDirectory()
    authority = try ThrowAwayAuthority(hosts: ["localhost"])
    try directory.write(authority.authorityCertificate, to: "ca.pem")
  }

  private func credentials() throws -> CertificateCredentials {
    var settings = Settings.defaults
    settings.apns.caFile = directory.file("ca.pem")
    settings.apns.certificateFile = directory.file("client.pem")
    let clock = clock
    return try CertificateCredentials(
      settings, clock: { clock.now.load(ordering: .relaxed) })
  }

  private func write(_ topics: [String]?, days: Int = 365) throws {
    let pem = try authority.client(subjectID: "com.example.live", topics: topics, days: days)
    try directory.write(pem, to: "client.new")
    rename(directory.file("client.new"), directory.file("client.pem"))
  }

  @Test func usesAnotherThatIsPutInItsPlace() throws {
    try write(nil)
    let credentials = try credentials()
    #expect(credentials.contents.servedTopics == ["com.example.live"])
    let first = credentials.identity.current
    #expect(credentials.look() == nil && credentials.identity.current === first)
    try write(["com.example.live", "com.example.other"])
    guard case .replaced(let words) = credentials.look() else {
      Issue.record("not replaced")
      return
    }
    #expect(words.contains("com.example.live, com.example.other, until 20"))
    #expect(credentials.identity.current !== first && credentials.look() == nil)
    #expect(credentials.contents.servedTopics.count == 2)
  }

  @Test(arguments: ["", "half", "expired"])
  func keepsTheOneBeforeWhenWhatCameIsOfNoUse(fault: String) throws {
    try write(nil)
    let credentials = try credentials()
    let first = credentials.identity.current
    switch fault {
    case "expired": try write(nil, days: -2)
    case "half":
      let pem = try authority.client(subjectID: "com.example.live", topics: nil)
      try directory.write(String(pem.dropLast(100)), to: "client.pem")
    default: try directory.write(fault, to: "client.pem")
    }
    guard case .refused(let reason) = credentials.look() else {
      Issue.record("not refused")
      return
    }
    #expect(!reason.isEmpty && credentials.look() == nil && credentials.isUnfit)
    #expect(credentials.identity.current === first)
    try write(nil)
    guard case .replaced = credentials.look() else {
      Issue.record("not replaced")
      return
    }
    #expect(!credentials.isUnfit)
  }

  /// To the millisecond, at the start of a worker and under one that runs.
  @Test func isUsedFromItsFirstMomentToItsLast() throws {
    try write(nil)
    let (begins, ends) = try { ($0.beginsAt * 1000, $0.expiresAt * 1000) }(credentials().contents)
    clock.now.store(begins - 1, ordering: .relaxed)
    let error = #expect(throws: SettingsError.self) { _ = try credentials() }
    let reason = "the certificate is not valid before \(WallClock.rfc3339(begins))"
    #expect(error?.problems.map(\.message) == [reason])
    clock.now.store(begins, ordering: .relaxed)
    let used = try credentials()
    let first = used.identity.current
    // The next one begins later than now, or at the earliest in the same second.
    try write(["com.example.live", "com.example.other"])
    clock.now.store(begins - 1, ordering: .relaxed)
    guard case .refused(let words) = used.look() else {
      Issue.record("a certificate that is not valid yet is used")
      return
    }
    #expect(words.hasPrefix("the certificate is not valid before "))
    #expect(used.identity.current === first && used.look() == nil)
    clock.now.store(ends + Self.day, ordering: .relaxed)
    #expect(used.look() == .refused("the certificate has expired"))
    clock.now.store(ends - 1, ordering: .relaxed)
    guard case .replaced = used.look() else {
      Issue.record("not replaced")
      return
    }
    #expect(used.identity.current !== first)
  }

  @Test func warnsOfItsEndAMonthAheadAndOnceADay() throws {
    try write(nil, days: 31)
    let credentials = try credentials()
    #expect(credentials.look() == nil)
    clock.now.add(2 * Self.day, ordering: .relaxed)
    guard case .expires(let words) = credentials.look() else {
      Issue.record("no warning")
      return
    }
    #expect(words.contains("com.example.live, until 20"))
    #expect(credentials.look() == nil)
    clock.now.add(Self.day - 1, ordering: .relaxed)
    #expect(credentials.look() == nil)
    clock.now.add(1, ordering: .relaxed)
    #expect(credentials.look() == .expires(words))
    clock.now.add(30 * Self.day, ordering: .relaxed)
    #expect(credentials.look() == .expired(words))
    #expect(credentials.expiresAt == credentials.contents.expiresAt)
  }

  @Test func readsThePassphraseFromItsFile() throws {
    var settings = Settings.defaults
    settings.apns.certificateFile = try directory.write("no certificate", to: "c.p12")
    settings.apns.certificatePassphraseFile = directory.file("nothing")
    let error = #expect(throws: SettingsError.self) { _ = try CertificateCredentials(settings) }
    #expect(error?.problems.first?.message.contains(directory.file("nothing")) == true)
    try directory.write("secret\n", to: "nothing")
    let other = #expect(throws: SettingsError.self) { _ = try CertificateCredentials(settings) }
    #expect(other?.problems.first?.message.contains("passphrase opens") == true)
    #expect(try ClientCertificateFile.read(settings.apns.credentials)?.passphrase == "secret")
  }

  /// As Kubernetes has them; the two are changed at one time, or wait for each other.
  @Test func readsTheKeyFromAFileOfItsOwn() throws {
    func put(_ pem: String, certificate: Bool = true, key: Bool = true) throws {
      let start = try #require(pem.firstRange(of: "-----BEGIN PRIVATE KEY-----")).lowerBound
      if certificate { try directory.write(String(pem[..<start]), to: "tls.crt") }
      if key { try directory.write(String(pem[start...]), to: "tls.key") }
    }
    let first = try authority.client(subjectID: "a.b", topics: nil, days: 100)
    try put(first)
    var settings = Settings.defaults
    settings.apns.certificateFile = directory.file("tls.crt")
    settings.apns.certificateKeyFile = directory.file("tls.key")
    let credentials = try CertificateCredentials(settings)
    #expect(credentials.contents.servedTopics == ["a.b"])
    let second = try authority.client(subjectID: "c.d", topics: ["a.b", "c.d"], days: 100)
    try put(second, key: false)
    guard case .refused = credentials.look() else {
      Issue.record("a certificate without its key is used")
      return
    }
    #expect(credentials.contents.servedTopics == ["a.b"])
    try put(second, certificate: false)
    guard case .replaced = credentials.look() else {
      Issue.record("not replaced")
      return
    }
    #expect(credentials.contents.servedTopics == ["a.b", "c.d"])
  }

  @Test func anotherAppsCertificateDoesNotTakeItsPlace() throws {
    try write(["a.b"])
    let credentials = try credentials()
    try write(["c.d"])
    guard case .refused(let reason) = credentials.look() else {
      Issue.record("another app's certificate is used")
      return
    }
    #expect(reason == "the certificate is not for a.b, and the one in use is")
    #expect(credentials.contents.servedTopics == ["a.b"])
  }
}
