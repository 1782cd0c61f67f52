import Glibc
import Settings
import Terminal

/// `--config` and `--set`, for every verb that reads settings.
package enum ConfigurationOptions {
  package static let file = Option<String?>(
    "config", short: "c", .path, value: "FILE",
    help:
      "The configuration file; by default \(defaultFile) in the working directory, if it exists",
    environment: "FANFARE_CONFIG")
  package static let set = Option<[NamedValue]>(
    repeated: "set", .named("KEY=VALUE, such as redis.port=6380"), value: "KEY=VALUE",
    help: "Override one setting of the file and the environment, such as redis.port=6380")
  package static let all: [any DeclaredOption] = [file, set]

  static let defaultFile = "fanfare.yaml"
}

extension Invocation {
  /// The file that `--config`, the environment or the working directory names.
  package var configurationFile: String? {
    if let given = self[ConfigurationOptions.file] { return given }
    if let named = ProcessEnvironment.all["FANFARE_CONFIG"], !named.isEmpty { return named }
    return access(ConfigurationOptions.defaultFile, F_OK) == 0
      ? ConfigurationOptions.defaultFile : nil
  }

  /// Everything that the layers say, with all that is wrong in it.
  package func settingsReport(
    requirements: SettingsRequirements = [], denyWarnings: Bool = false
  ) -> SettingsReport {
    SettingsLoader.load(
      SettingsInput(
        file: configurationFile, environment: ProcessEnvironment.all,
        overrides: self[ConfigurationOptions.set].map { ($0.name, $0.value) },
        denyWarnings: denyWarnings, requirements: requirements))
  }

  /// The settings to work with. Warnings are told; problems end the command with `config`.
  package func loadSettings(
    requirements: SettingsRequirements = []
  ) throws(CommandFailure) -> Settings {
    let report = settingsReport(requirements: requirements)
    for warning in report.warnings { errors.line(TextLayout.printable(warning.description)) }
    do {
      return try report.settings()
    } catch {
      throw CommandFailure(error)
    }
  }
}
