import Checkout
import Processes
import Testing

/// docs/ios.md: its Swift is one app and one extension, and both compile.
@Suite struct AppGuideTests {
  private let page: DocumentPage
  private let scratch: ScratchDirectory

  init() throws {
    page = try DocumentPage("docs/ios.md")
    scratch = try ScratchDirectory()
  }

  /// A block of the page: the file that its first line names.
  private struct File {
    let target: String
    let name: String
    let text: String

    init(_ block: String) throws {
      let match = try #require(block.firstMatch(of: /^\/\/ (\w+)\/(\w+\.swift)\n/), "\(block)")
      target = String(match.1)
      name = String(match.2)
      text = block
    }
  }

  private func files() throws -> [File] { try page.blocks(of: "swift").map(File.init) }

  /// What the compiler says; nil when it has nothing against them.
  private func complaint(about files: [File], _ flags: [String]) throws -> String? {
    let paths = try files.map { try scratch.write($0.text, to: $0.name) }
    // On Linux, URLSession is not in Foundation.
    let networking = ["-import-module", "FoundationNetworking"].flatMap { ["-Xfrontend", $0] }
    let compiler = try ChildProcess(
      [
        "swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library",
        "-module-name", "Guide", "-module-cache-path", scratch.file("modules"),
        "-I", "\(Checkout.root)/Tests/AppleInterfaces",
      ] + networking + flags + paths, output: .pipe)
    let said = compiler.readToEnd()
    return compiler.waitForExit() == 0 ? nil : said
  }

  /// As projects are, and as Xcode makes new ones since Swift 6.2.
  @Test(arguments: [
    [],
    [
      "-default-isolation", "MainActor", "-enable-upcoming-feature",
      "NonisolatedNonsendingByDefault", "-enable-upcoming-feature", "InferIsolatedConformances",
    ],
  ])
  func theSwiftCompiles(_ flags: [String]) throws {
    let targets = Dictionary(grouping: try files(), by: \.target)
    #expect(targets.keys.sorted() == ["App", "NotificationService"])
    for (target, files) in targets {
      let complaint = try complaint(about: files, flags)
      #expect(complaint == nil, "\(target): \(complaint ?? "")")
    }
  }

  @Test(arguments: [
    ("registerForRemoteNotifications()", "registerForRemoteNotification()"),
    ("completionHandler(isThere ? [] : [.banner, .list, .sound])", "completionHandler([.alerts])"),
    ("$0.id == id", "$0.id == 1"),
    ("extension AppDelegate: @preconcurrency", "extension AppDelegate:"),
  ])
  func aMistakeIsSeen(right: String, wrong: String) throws {
    let files = try page.blocks(of: "swift").map { try File($0.replacing(right, with: wrong)) }
      .filter { $0.target == "App" }
    #expect(try complaint(about: files, []) != nil)
  }

  /// What the templates say of a Live Activity is what the page's types read.
  @Test func theTypesReadWhatTheTemplatesWrite() throws {
    let attributes = try #require(try files().first { $0.name == "LiveStreamAttributes.swift" })
    let source = try scratch.write(
      """
      import Foundation

      protocol ActivityAttributes: Codable { associatedtype ContentState: Codable, Hashable }

      struct Push: Decodable {
        struct Payload: Decodable { let aps: APS }
        struct APS: Decodable {
          enum CodingKeys: String, CodingKey {
            case attributes, state = "content-state", type = "attributes-type"
          }
          let attributes: LiveStreamAttributes?
          let state: LiveStreamAttributes.ContentState
          let type: String?
        }
        let payload: Payload
      }

      \(attributes.text.replacing("import ActivityKit", with: ""))
      @main enum Reader {
        static func main() throws {
          for line in CommandLine.arguments.dropFirst() {
            let aps = try JSONDecoder().decode(Push.self, from: Data(line.utf8)).payload.aps
            let name = aps.attributes.map { "\\(type(of: $0)) \\($0.streamerName)" }
            print(aps.type ?? "-", name ?? "-", aps.state.title, aps.state.isLive)
          }
        }
      }
      """, to: "Reader.swift")
    let program = scratch.file("reader")
    _ = try ChildProcess.run([
      "swiftc", "-swift-version", "6", "-parse-as-library", "-module-cache-path",
      scratch.file("modules"), source, "-o", program,
    ])
    let pushes = try ["start", "update", "end"].map { step in
      let template = Checkout.path("Config/templates/live-activity-\(step).yaml")
      return try Command.run("render", template, "--json").text
    }
    let read = try ChildProcess.run([program] + pushes).split(separator: "\n").map(String.init)
    #expect(
      read == [
        "LiveStreamAttributes LiveStreamAttributes Aiko Speedrun night true",
        "- - Speedrun night true", "- - Speedrun night false",
      ])
  }

  /// The page's own template names the category and the keys that its Swift looks for.
  @Test func theTemplateLeadsToTheRoom() throws {
    let template = try #require(page.blocks(of: "yaml").first)
    let path = try scratch.write(template, to: "go-live-actions.yaml")
    let outcome = try Command.run("render", path, "--json")
    #expect(outcome.code == 0)
    #expect(outcome.text.contains(#""category":"GO_LIVE""#))
    #expect(outcome.text.contains(#""stream":{"id":"b-991","streamer":"s42"}"#))
    let actions = try #require(try files().first { $0.name == "NotificationActions.swift" })
    #expect(actions.text.contains(#"identifier: "GO_LIVE""#))
  }
}
