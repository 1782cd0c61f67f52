import Glibc
import Processes
import Testing

/// The same seed gives the same life in every process, whatever its tables hash by, and wherever
/// its memory is.
@Suite struct OtherProcessTests {
  /// The program beside this test's own.
  private static var tool: String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    // `swift test` runs bundles through a helper of its own: then the bundle is an argument.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
    return bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/WorldTool"
  }

  private static func life(_ seed: Int) throws -> [Substring] {
    let process = try ChildProcess([tool, "--seed", "\(seed)", "--trace"], output: .pipe)
    let text = process.readToEnd()
    #expect(process.waitForExit() == 0)
    return text.split(separator: "\n")
  }

  @Test func twoProcessesLiveTheSameLife() throws {
    let (first, second) = (try Self.life(7), try Self.life(7))
    #expect(first.count > 10)
    let difference = zip(first, second).first { $0 != $1 }
    #expect(difference == nil && first.count == second.count, "\(String(describing: difference))")
  }
}
