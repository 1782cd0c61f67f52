import Glibc
import Processes
import Testing

@testable import Settings

/// A directory with a configuration in it, for one test.
struct SettingsFixture {
  let directory: ScratchDirectory
  var environment: [String: String] = [:]
  var overrides: [(key: String, value: String)] = []
  var denyWarnings = false
  var requirements: SettingsRequirements = []

  init(_ yaml: String) throws {
    directory = try ScratchDirectory()
    chmod(try directory.write(yaml, to: "fanfare.yaml"), 0o640)
  }

  var file: String { directory.file("fanfare.yaml") }

  func load() -> SettingsReport {
    SettingsLoader.load(
      SettingsInput(
        file: file, environment: environment, overrides: overrides, denyWarnings: denyWarnings,
        requirements: requirements, hostName: "host", processID: 42))
  }

  /// The findings, with the directory's changing name taken out.
  func findings() -> [String] {
    load().findings.map { "\($0)".replacing(directory.path + "/", with: "") }
  }

  func settings() throws -> Settings { try load().settings() }

  /// Where the value of each key comes from.
  func sources() -> [String: String] {
    var layers = SettingsLayers(baseDirectory: "")
    layers.read(file: file)
    layers.read(environment: environment)
    layers.read(overrides: overrides)
    return Dictionary(
      uniqueKeysWithValues: SettingTable.keys.map {
        ($0.path, "\(layers.source(of: $0.path))".replacing(directory.path + "/", with: ""))
      })
  }

  /// The keys that the file sets.
  func keysInFile() -> Set<String> {
    Set(sources().filter { $0.value.hasPrefix("fanfare.yaml:") }.keys)
  }
}

/// A key as Apple hands it out, made up; too short to be one, which is not this room's business.
let samplePEM = "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMG\n-----END PRIVATE KEY-----\n"
let sampleCertificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

func expectFindings(
  _ yaml: String, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(try SettingsFixture(yaml).findings() == expected, sourceLocation: sourceLocation)
}
