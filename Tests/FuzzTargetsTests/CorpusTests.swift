import Checkout
import Foundation
import FuzzTargets
import Testing

/// What fuzzers start from and what they have found, each once and without a fuzzer.
@Suite struct CorpusTests {
  private static let folder = "Tests/Fuzz/Corpora"
  /// Seeds are read by people, and each is run in every test.
  private static let maximumFiles = 64

  private func files(of target: String) throws -> [URL] {
    let folder = URL(fileURLWithPath: "\(Checkout.root)/\(Self.folder)/\(target)")
    return try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(arguments: FuzzTarget.all.map(\.name))
  func everyInputOfTheCorpusKeepsItsTargetsProperties(name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let files = try files(of: name)
    #expect((3...Self.maximumFiles).contains(files.count), "\(files.count) inputs of \(name)")
    for file in files {
      let input = try Data(contentsOf: file)
      #expect(input.count <= target.maximumBytes, "\(file.lastPathComponent)")
      #expect(throws: Never.self, "\(file.lastPathComponent)") {
        try input.withUnsafeBytes { try target.check($0) }
      }
    }
  }

  @Test func everyCorpusHasATarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: "\(Checkout.root)/\(Self.folder)")
    #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
  }
}
