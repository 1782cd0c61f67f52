import Glibc
import Processes
import ServerProcesses

/// The directory of a development stack, which stays: configuration, key, templates, what Redis
/// holds, the simulators' certificates and keys, and the logs of this run. One process has it at a
/// time.
package final class DevelopmentDirectory: Sendable {
  /// It marks a directory as ours, and is locked while somebody has it.
  static let mark = "fanfare-dev.lock"
  /// In it, of Redis' files.
  static let redis = "redis"
  static let apiKeys = "api-keys"
  private static let apiKey = "api-key"
  private static let templates = "templates"
  private static let template = "go-live.yaml"
  static let templateName = "\(templates)/\(template)"
  /// Texts that undos have taken away: that of this run, and that of earlier runs. They are not
  /// among the templates: workers read all of those.
  static let undoneTemplate = "go-live.undone.yaml"
  static let earlierTemplate = "go-live.earlier.yaml"
  private static let maximumTemplateBytes = 1 << 20
  private static let startTimeout: Duration = .seconds(20)

  package let directory: ScratchDirectory
  /// Owned, and closed with this object; its lock goes with it.
  private let lock: Int32
  /// The file that the template was copied from.
  let shippedTemplate: String

  /// Makes it where it is not there.
  /// - Parameters:
  ///   - ports: of the stack, looked at before anything is changed.
  ///   - isFresh: removes what an earlier run has left, templates too. A directory that is not
  ///     ours stays as it is.
  ///   - shipped: the directory of the template that is copied.
  /// - Throws: `.configuration` for a directory with files of somebody else's, `.unavailable` for
  ///   one that another process has, and for ports that are taken.
  package init(
    _ path: String, _ ports: DevelopmentPorts, isFresh: Bool, shipped: String
  ) throws(LocalRunError) {
    let names = ScratchDirectory.names(in: path)
    guard names.isEmpty || names.contains(Self.mark) else {
      throw LocalRunError(
        .configuration,
        "\(path) holds files of something else: name an empty directory with --directory")
    }
    shippedTemplate = "\(shipped)/\(Self.template)"
    directory = try ScratchDirectory(staying: path)
    lock = try Self.lock(directory.file(Self.mark))
    try ports.check()
    for name in ScratchDirectory.names(in: directory.path) where name != Self.mark {
      let isOfOneRun = [".out", ".log", ".ready"].contains { name.hasSuffix($0) }
      if isFresh || isOfOneRun { ScratchDirectory.removeTree(directory.file(name)) }
    }
    try copyTemplate()
  }

  deinit { close(lock) }

  private static func lock(_ path: String) throws(LocalRunError) -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw LocalRunError(.failed, "\(path) cannot be made: \(String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw LocalRunError(
        .unavailable,
        "another `fanfare dev` runs in this directory: end it, or name another "
          + "directory with --directory and other ports with --port")
    }
    return descriptor
  }

  package var templateFile: String { directory.file(Self.templateName) }
  package var templateDirectory: String { directory.file(Self.templates) }
  package var keyFile: String { directory.file(Self.apiKey) }
  var workerReadyFile: String { directory.file("worker.ready") }

  /// A template that is there stays as somebody has edited it.
  private func copyTemplate() throws(LocalRunError) {
    _ = try directory.makeDirectory(Self.templates)
    guard !ScratchDirectory.exists(templateFile) else { return }
    guard let text = Self.templateText(shippedTemplate) else {
      throw LocalRunError(.configuration, "\(shippedTemplate) cannot be read")
    }
    try directory.write(text, to: Self.templateName)
  }

  /// Nil where there is no file.
  static func templateText(_ path: String) -> String? {
    ScratchDirectory.read(path, maximumBytes: maximumTemplateBytes)
  }

  /// The key of somebody who may do everything, made at the first start.
  func key(_ processes: ChildProcesses) async throws(LocalRunError) -> String {
    if ScratchDirectory.exists(directory.file(Self.apiKeys)),
      let known = ScratchDirectory.read(keyFile)?.split(separator: "\n").first
    {
      return String(known)
    }
    let maker = try processes.start(
      "make-key", [Executable.own, "api-key", "dev", "--scope", "admin", "--json"])
    _ = try await processes.finish(maker, within: Self.startTimeout)
    let made = try JSONReport(
      Array((ScratchDirectory.read(maker.outputFile) ?? "").utf8), of: "fanfare api-key")
    ScratchDirectory.removeFile(maker.outputFile)
    let key = try made.text("key")
    try directory.writeSecret(key + "\n", to: Self.apiKey)
    try directory.writeSecret(try made.text("line") + "\n", to: Self.apiKeys)
    return key
  }
}
