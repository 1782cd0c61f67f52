import Glibc
import Processes
import Testing

@testable import Settings

@Suite struct ProviderKeyFileTests {
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  @Test(arguments: [
    ("AuthKey_ABC123DEFG.p8", "ABC123DEFG"), ("/a/b/AuthKey_ABC123DEFG.p8", "ABC123DEFG"),
    ("AuthKey_abc123defg.p8", nil), ("AuthKey_ABC123DEFG.pem", nil), ("AuthKey_.p8", nil),
    ("AuthKey_ABC123DEFGH.p8", nil), ("key.p8", nil), ("", nil), ("AuthKey_.p", nil),
  ])
  func theNameSaysTheID(path: String, id: String?) {
    #expect(ProviderKeyFile.keyID(named: path) == id)
  }

  @Test func followsLinksToTheNameThatAppleGave() throws {
    try directory.write("key", to: "AuthKey_ABC123DEFG.p8")
    symlink("AuthKey_ABC123DEFG.p8", directory.file("current.p8"))
    let found = try ProviderKeyFile.read(directory.file("current.p8"))
    #expect(found.keyID == "ABC123DEFG" && found.file.text == "key")
  }

  /// As Kubernetes mounts a secret: the names are links through a link that is pointed elsewhere.
  @Test func findsTheOneKeyOfADirectory() throws {
    mkdir(directory.file("mount"), 0o755)
    mkdir(directory.file("mount/..v1"), 0o755)
    try directory.write("key", to: "mount/..v1/AuthKey_ABC123DEFG.p8")
    symlink("..v1", directory.file("mount/..data"))
    symlink("..data/AuthKey_ABC123DEFG.p8", directory.file("mount/AuthKey_ABC123DEFG.p8"))
    let found = try ProviderKeyFile.read(directory.file("mount"))
    #expect(found.keyID == "ABC123DEFG" && found.file.text == "key")
    try directory.write("other", to: "mount/AuthKey_ABC123DEFH.p8")
    #expect(throws: SettingComplaint.self) {
      _ = try ProviderKeyFile.read(directory.file("mount"))
    }
  }

  @Test func saysWhatIsMissingByTheNameOfTheSetting() throws {
    symlink("gone.p8", directory.file("current.p8"))
    for name in ["current.p8", "nothing", "."] {
      let path = directory.file(name)
      let complaint = #expect(throws: SettingComplaint.self) {
        _ = try ProviderKeyFile.read(path)
      }
      #expect(complaint?.message.contains(path) == true)
    }
  }

  @Test(arguments: [
    ("key_id: ABC123DEFG", "AuthKey_ABC123DEFG.p8", []), ("", "AuthKey_ABC123DEFG.p8", []),
    (
      "", "k.p8",
      [
        "fanfare.yaml:1:18: apns.key_id: is needed together with apns.key_file, whose name "
          + "does not say it (the name that Apple gives is AuthKey_<key id>.p8)"
      ]
    ),
    (
      "key_id: ABC123DEFH", "AuthKey_ABC123DEFG.p8",
      [
        "fanfare.yaml:1:70: warning: apns.key_id: is ABC123DEFH, the file's name says ABC123DEFG "
          + "(leave key_id out, and the name says it, also when another key is put in place)"
      ]
    ),
  ])
  func theIDIsSetOrNamed(setting: String, name: String, findings: [String]) throws {
    let more = setting.isEmpty ? "" : ", \(setting)"
    var fixture = try SettingsFixture(
      "apns: {key_file: \(name), team_id: ABC123DEFG\(more)}\n")
    fixture.requirements = .credentials
    chmod(try fixture.directory.write(samplePEM, to: name), 0o440)
    #expect(fixture.findings() == findings)
  }
}
